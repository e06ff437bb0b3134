/** Reducers that users write in Python: asked in batches, in Spark's Python workers. */
@NullMarked
package io.keylake.spark.python;

import org.jspecify.annotations.NullMarked;
