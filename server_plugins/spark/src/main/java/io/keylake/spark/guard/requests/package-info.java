/** The access policy in requests of Spark Connect: who asks, and what no plan shows. */
@NullMarked
package io.keylake.spark.guard.requests;

import org.jspecify.annotations.NullMarked;
