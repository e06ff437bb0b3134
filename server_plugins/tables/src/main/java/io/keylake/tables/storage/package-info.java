/** Where files lie, what they are called, and which of them no snapshot knows. */
@NullMarked
package io.keylake.tables.storage;

import org.jspecify.annotations.NullMarked;
