/** Compares what files hold with the checksums, counts and sizes that are kept of it. */
@NullMarked
package io.keylake.spark.integrity;

import org.jspecify.annotations.NullMarked;
