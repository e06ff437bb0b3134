/** How contributions to a column become one value, on the way into files and out of them. */
@NullMarked
package io.keylake.spark.accumulators;

import org.jspecify.annotations.NullMarked;
