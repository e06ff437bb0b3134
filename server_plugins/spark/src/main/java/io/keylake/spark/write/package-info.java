/** Spark's write interface: writes of rows that are prepared, and their commits. */
@NullMarked
package io.keylake.spark.write;

import org.jspecify.annotations.NullMarked;
