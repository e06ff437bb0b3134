/** Rules by which rows of a write become what the table stores of them, and get to their tasks. */
@NullMarked
package io.keylake.spark.preparation;

import org.jspecify.annotations.NullMarked;
