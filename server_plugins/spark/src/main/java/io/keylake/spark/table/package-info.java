/** The table as Spark sees it, with the scans and writes that it offers. */
@NullMarked
package io.keylake.spark.table;

import org.jspecify.annotations.NullMarked;
