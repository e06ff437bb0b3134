/** The request of a write: its options, and the columns of its rows, held against the table. */
@NullMarked
package io.keylake.spark.write.request;

import org.jspecify.annotations.NullMarked;
