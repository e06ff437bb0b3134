/** Spark's read interface: the request, the filters, the scan and its partitions. */
@NullMarked
package io.keylake.spark.read.scan;

import org.jspecify.annotations.NullMarked;
