/** Equality deletes of plain Iceberg tables: which apply to which files, and an index of them. */
@NullMarked
package io.keylake.plaindeletes.index;

import org.jspecify.annotations.NullMarked;
