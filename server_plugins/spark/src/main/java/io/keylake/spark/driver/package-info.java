/** Writes of a few rows that came with their statement, which the driver does without a job. */
@NullMarked
package io.keylake.spark.driver;

import org.jspecify.annotations.NullMarked;
