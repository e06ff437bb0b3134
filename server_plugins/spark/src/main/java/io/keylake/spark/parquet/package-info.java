/** Opens and writes the Parquet files of a table. */
@NullMarked
package io.keylake.spark.parquet;

import org.jspecify.annotations.NullMarked;
