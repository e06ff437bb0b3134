/** What statements that change rows are made of: the snapshot they read, values, and versions. */
@NullMarked
package io.keylake.spark.statements;

import org.jspecify.annotations.NullMarked;
