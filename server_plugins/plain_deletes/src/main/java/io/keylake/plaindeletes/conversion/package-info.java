/** Turns equality deletes of plain Iceberg tables into deletions by position. */
@NullMarked
package io.keylake.plaindeletes.conversion;

import org.jspecify.annotations.NullMarked;
