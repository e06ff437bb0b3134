/** The reducers of keylake, and which of all reducers a column has: its accumulator. */
@NullMarked
package io.keylake.spark.reducers.builtin;

import org.jspecify.annotations.NullMarked;
