/** Writes merged rows as files that a key-value store loads. */
@NullMarked
package io.keylake.spark.publish;

import org.jspecify.annotations.NullMarked;
