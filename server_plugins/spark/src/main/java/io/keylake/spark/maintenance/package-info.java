/** Compaction, settlement and undo at work, and what a server does after commits by itself. */
@NullMarked
package io.keylake.spark.maintenance;

import org.jspecify.annotations.NullMarked;
