/** Commits are told to those who wait for them. */
@NullMarked
package io.keylake.spark.notices;

import org.jspecify.annotations.NullMarked;
