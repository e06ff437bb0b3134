/** Conditions in SQL on rows one by one, which writes require and tasks test. */
@NullMarked
package io.keylake.spark.conditions;

import org.jspecify.annotations.NullMarked;
