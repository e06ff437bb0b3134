/** Iceberg's own scans of a table, but of files that somebody else has chosen. */
@NullMarked
package io.keylake.spark.planned;

import org.jspecify.annotations.NullMarked;
