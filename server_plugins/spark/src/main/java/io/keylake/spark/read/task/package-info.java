/**
 * The parts that every task of a read gets: the columns that it gives, and the filters that it may
 * use.
 */
@NullMarked
package io.keylake.spark.read.task;

import org.jspecify.annotations.NullMarked;
