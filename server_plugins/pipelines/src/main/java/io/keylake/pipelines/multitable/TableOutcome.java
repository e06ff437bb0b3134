package io.keylake.pipelines.multitable;

import io.keylake.tables.history.CommitLog;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The outcome of the rows of a table.
 *
 * @param table its name, as the rows have it
 * @param commit null where it failed, or had no rows
 * @param goesOn where an earlier commit has the same offsets: the next one of each source; else
 *     null
 * @param failure null where it did not fail
 */
public record TableOutcome(
    String table,
    CommitLog.@Nullable Entry commit,
    @Nullable Map<String, Long> goesOn,
    @Nullable String failure) {}
