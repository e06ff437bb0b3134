/** The files that a table needs, what is wrong with them, and what of that can be repaired. */
@NullMarked
package io.keylake.tables.check;

import org.jspecify.annotations.NullMarked;
