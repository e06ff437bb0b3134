/**
 * The one room that names internals of Spark and Iceberg, and the versions that it was built for.
 */
@NullMarked
package io.keylake.spark.engine;

import org.jspecify.annotations.NullMarked;
