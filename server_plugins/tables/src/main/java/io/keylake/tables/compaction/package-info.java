/**
 * The picture of a bucket, the rules that say which runs are merged, the plan, and the settlement
 * of superseded rows.
 */
@NullMarked
package io.keylake.tables.compaction;

import org.jspecify.annotations.NullMarked;
