/** The tasks of a write: rows in key order become the rows of files, and these files. */
@NullMarked
package io.keylake.spark.write.tasks;

import org.jspecify.annotations.NullMarked;
