/** The procedures that CALL offers. */
@NullMarked
package io.keylake.spark.procedures;

import org.jspecify.annotations.NullMarked;
