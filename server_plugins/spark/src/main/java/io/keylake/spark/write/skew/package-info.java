/**
 * Brings the rows of a large write to its tasks: by partition and bucket, and by ranges of keys
 * where one of these is hot.
 */
@NullMarked
package io.keylake.spark.write.skew;

import org.jspecify.annotations.NullMarked;
