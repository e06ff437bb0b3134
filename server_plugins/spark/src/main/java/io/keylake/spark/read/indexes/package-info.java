/** Indices of values, as a read asks them before it opens a section. */
@NullMarked
package io.keylake.spark.read.indexes;

import org.jspecify.annotations.NullMarked;
