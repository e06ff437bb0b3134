/** Nodes of plans that are written in Java: what a case class in Scala has by itself. */
@NullMarked
package io.keylake.spark.plans;

import org.jspecify.annotations.NullMarked;
