/** SQL functions that make contributions to columns and read their combined values. */
@NullMarked
package io.keylake.spark.functions;

import org.jspecify.annotations.NullMarked;
