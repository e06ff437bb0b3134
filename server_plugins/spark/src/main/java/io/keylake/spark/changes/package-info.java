/** The change feed as a scan and as a stream, and the positions of its consumers. */
@NullMarked
package io.keylake.spark.changes;

import org.jspecify.annotations.NullMarked;
