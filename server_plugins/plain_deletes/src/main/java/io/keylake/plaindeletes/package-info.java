/** The guest that reads and applies equality deletes of plain Iceberg tables. */
@NullMarked
package io.keylake.plaindeletes;

import org.jspecify.annotations.NullMarked;
