/**
 * Reads commits: the log of a branch, ranges and points in time, watermarks, and what summaries
 * say.
 */
@NullMarked
package io.keylake.tables.history;

import org.jspecify.annotations.NullMarked;
