/** The access policy in calls of procedures: the right that each takes. */
@NullMarked
package io.keylake.spark.guard.procedures;

import org.jspecify.annotations.NullMarked;
