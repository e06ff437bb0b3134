/**
 * How the rows of a large write get to its tasks: by partition and bucket, and by ranges of keys
 * where one of these is hot.
 */
@NullMarked
package io.keylake.spark.spread;

import org.jspecify.annotations.NullMarked;
