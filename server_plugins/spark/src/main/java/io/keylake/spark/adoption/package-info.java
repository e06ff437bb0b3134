/** Rows of plain tables as rows of the keyed tables that adopt them. */
@NullMarked
package io.keylake.spark.adoption;

import org.jspecify.annotations.NullMarked;
