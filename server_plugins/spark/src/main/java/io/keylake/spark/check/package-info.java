/** Checks of all files of a table, as tasks; nothing is changed. */
@NullMarked
package io.keylake.spark.check;

import org.jspecify.annotations.NullMarked;
