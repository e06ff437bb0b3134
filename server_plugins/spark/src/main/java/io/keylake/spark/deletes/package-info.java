/** Reads of plain Iceberg tables with equality deletes. */
@NullMarked
package io.keylake.spark.deletes;

import org.jspecify.annotations.NullMarked;
