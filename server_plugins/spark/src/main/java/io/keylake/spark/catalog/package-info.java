/** The catalog that makes and opens keyed tables. */
@NullMarked
package io.keylake.spark.catalog;

import org.jspecify.annotations.NullMarked;
