/** Files of this machine as Hadoop has them, without a process for each. */
@NullMarked
package io.keylake.spark.localfiles;

import org.jspecify.annotations.NullMarked;
