/** Tables and Parquet files of others that become keyed tables by a rewrite. */
@NullMarked
package io.keylake.spark.registration;

import org.jspecify.annotations.NullMarked;
