/**
 * SQL functions that make contributions to columns and read their combined values, also those of
 * the last so many days.
 */
@NullMarked
package io.keylake.spark.reducers.functions;

import org.jspecify.annotations.NullMarked;
