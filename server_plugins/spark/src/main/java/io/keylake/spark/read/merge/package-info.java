/** The merge of the stored rows of a section, in vectors. */
@NullMarked
package io.keylake.spark.read.merge;

import org.jspecify.annotations.NullMarked;
