/** Unions of bitmaps and sketches, in the bytes that other libraries read. */
@NullMarked
package io.keylake.spark.reducers.sketches;

import org.jspecify.annotations.NullMarked;
