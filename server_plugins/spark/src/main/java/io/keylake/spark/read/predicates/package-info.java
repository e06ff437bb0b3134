/** Filters of queries, asked of column vectors, a batch at a time. */
@NullMarked
package io.keylake.spark.read.predicates;

import org.jspecify.annotations.NullMarked;
