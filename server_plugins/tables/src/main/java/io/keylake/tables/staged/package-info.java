/** Tables that are made, or replaced, together with their first rows. */
@NullMarked
package io.keylake.tables.staged;

import org.jspecify.annotations.NullMarked;
