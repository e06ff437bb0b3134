/** Parts of statements that change rows: the snapshot they read, values, and versions. */
@NullMarked
package io.keylake.spark.statements;

import org.jspecify.annotations.NullMarked;
