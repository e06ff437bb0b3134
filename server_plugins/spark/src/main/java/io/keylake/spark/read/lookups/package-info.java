/** Look-ups of single keys, which the driver answers without a job. */
@NullMarked
package io.keylake.spark.read.lookups;

import org.jspecify.annotations.NullMarked;
