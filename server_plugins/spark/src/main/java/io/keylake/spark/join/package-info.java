/** Joins of keyed tables by key, batch by batch, without a shuffle or a sort. */
@NullMarked
package io.keylake.spark.join;

import org.jspecify.annotations.NullMarked;
