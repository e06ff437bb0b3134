/**
 * The merged state of a keyed table as a plain Iceberg table, for engines that do not merge: made
 * when somebody asks, of the files that the table has, and of what changed since the last time.
 */
@NullMarked
package io.keylake.spark.mergedstate;

import org.jspecify.annotations.NullMarked;
