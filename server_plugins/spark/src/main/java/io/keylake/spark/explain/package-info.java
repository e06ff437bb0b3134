/**
 * Explains why the row of a key reads as it does: which stored values count, who wrote them, which
 * lost.
 */
@NullMarked
package io.keylake.spark.explain;

import org.jspecify.annotations.NullMarked;
