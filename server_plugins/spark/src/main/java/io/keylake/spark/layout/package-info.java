/** Tells Spark how tables lie, so that it neither moves nor sorts their rows. */
@NullMarked
package io.keylake.spark.layout;

import org.jspecify.annotations.NullMarked;
