/** Filters of the keys of data files: how they are written, and how they are asked. */
@NullMarked
package io.keylake.spark.keyfilters;

import org.jspecify.annotations.NullMarked;
