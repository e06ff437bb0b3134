package io.keylake.pipelines.messages;

import org.jspecify.annotations.Nullable;

/**
 * A change of a row, or a message that could not be read.
 *
 * @param table its name in the source, null where a message does not say it
 * @param op c, u, d or r; null where the message could not be read
 * @param row a JSON object, or the text of the message
 * @param at when it was changed in the source, in microseconds
 * @param error why the message could not be read
 * @param found what the row tells of its table that no message before it told, as JSON: {@code
 *     {"key": [names], "columns": {name: [types]}}}
 */
public record Change(
    @Nullable String table,
    @Nullable String op,
    byte[] row,
    @Nullable Long version,
    @Nullable Long at,
    @Nullable String error,
    @Nullable String found) {}
