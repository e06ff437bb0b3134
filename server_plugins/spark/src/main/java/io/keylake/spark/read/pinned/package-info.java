/** Iceberg's own scans of a table, pinned to files that somebody else has chosen. */
@NullMarked
package io.keylake.spark.read.pinned;

import org.jspecify.annotations.NullMarked;
