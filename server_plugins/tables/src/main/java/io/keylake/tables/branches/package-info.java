/**
 * Operations between branches: publishing, cherry-picks, archived states, the merged branch,
 * dropping.
 */
@NullMarked
package io.keylake.tables.branches;

import org.jspecify.annotations.NullMarked;
