/** Keys, their order and their hashes as Spark has them. */
@NullMarked
package io.keylake.spark.keys;

import org.jspecify.annotations.NullMarked;
