/** Lateness: which rows of a write are late, what names of files say of it, and their order. */
@NullMarked
package io.keylake.tables.lateness;

import org.jspecify.annotations.NullMarked;
