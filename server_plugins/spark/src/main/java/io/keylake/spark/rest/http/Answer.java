package io.keylake.spark.rest.http;

import org.jspecify.annotations.Nullable;

/**
 * An answer to a request.
 *
 * @param status of HTTP
 * @param json the body; null where there is none
 * @param tag the version of what was asked for, as the client can ask whether it is still so; null
 *     where it has none
 */
public record Answer(int status, @Nullable String json, @Nullable String tag) {
  public static Answer of(String json) {
    return new Answer(200, json, null);
  }

  public static Answer nothing() {
    return new Answer(204, null, null);
  }
}
