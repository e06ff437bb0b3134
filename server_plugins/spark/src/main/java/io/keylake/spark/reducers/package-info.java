/**
 * Reducers: how the contributions to a column become one value. {@code builtin} has those of
 * keylake, {@code sketches} the unions of sketches and bitmaps, {@code user} the classes that users
 * write in Java and Python, {@code functions} the SQL functions over their values, {@code partial}
 * the rows of one key that a task combines before they are moved.
 */
@NullMarked
package io.keylake.spark.reducers;

import org.jspecify.annotations.NullMarked;
