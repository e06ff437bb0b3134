/**
 * Filters of the keys of data files, and of values that have an index: how they are written and
 * asked.
 */
@NullMarked
package io.keylake.spark.columnfilters;

import org.jspecify.annotations.NullMarked;
