/** Writes of a few rows, which the driver does itself. */
@NullMarked
package io.keylake.spark.driver;

import org.jspecify.annotations.NullMarked;
