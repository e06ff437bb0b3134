/**
 * Reducers that users write: classes in Java, loaded by name, and classes in Python, asked in
 * batches in Spark's Python workers. A new column's reducer is tested before the column has it.
 */
@NullMarked
package io.keylake.spark.reducers.user;

import org.jspecify.annotations.NullMarked;
