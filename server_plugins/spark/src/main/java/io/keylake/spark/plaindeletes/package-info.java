/** The guest that reads and applies equality deletes of plain Iceberg tables. */
@NullMarked
package io.keylake.spark.plaindeletes;

import org.jspecify.annotations.NullMarked;
