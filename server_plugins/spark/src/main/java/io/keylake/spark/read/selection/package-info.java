/** Selections: which stored rows of a section are its merged rows, and the cache of them. */
@NullMarked
package io.keylake.spark.read.selection;

import org.jspecify.annotations.NullMarked;
