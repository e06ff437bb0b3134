/** SQL functions over values by day: the last so many days of one row. */
@NullMarked
package io.keylake.spark.windows;

import org.jspecify.annotations.NullMarked;
