/** Reducers that users write: loaded by name, tried before a column has them. */
@NullMarked
package io.keylake.spark.own;

import org.jspecify.annotations.NullMarked;
