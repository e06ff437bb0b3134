/** Column vectors over other column vectors. */
@NullMarked
package io.keylake.spark.vectors;

import org.jspecify.annotations.NullMarked;
