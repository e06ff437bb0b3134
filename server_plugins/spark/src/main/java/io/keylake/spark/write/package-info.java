/** Spark's write interface: checks, layout, sorting and the files of a write. */
@NullMarked
package io.keylake.spark.write;

import org.jspecify.annotations.NullMarked;
