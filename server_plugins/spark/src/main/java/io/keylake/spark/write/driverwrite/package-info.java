/** Writes of a few rows, which the driver does itself. */
@NullMarked
package io.keylake.spark.write.driverwrite;

import org.jspecify.annotations.NullMarked;
