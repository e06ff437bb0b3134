/** Rows of one key combined in the task that has them, before they are moved. */
@NullMarked
package io.keylake.spark.reducers.partial;

import org.jspecify.annotations.NullMarked;
