/** Which stored rows of a section are its merged rows, and where that is kept for later reads. */
@NullMarked
package io.keylake.spark.read.selection;

import org.jspecify.annotations.NullMarked;
