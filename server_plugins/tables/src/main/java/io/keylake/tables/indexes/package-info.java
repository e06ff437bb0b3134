/** Indices of values: which columns have them, by properties of the table. */
@NullMarked
package io.keylake.tables.indexes;

import org.jspecify.annotations.NullMarked;
