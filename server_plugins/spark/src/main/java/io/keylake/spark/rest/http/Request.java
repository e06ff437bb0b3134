package io.keylake.spark.rest.http;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.iceberg.rest.RESTUtil;

/**
 * A request of a client.
 *
 * @param path its segments, decoded
 * @param query its parameters, decoded; the first of each name counts
 * @param body empty where there is none
 * @param tags of answers that the client has already, of the header If-None-Match
 * @param isOfMergingClient the client knows the merge law, and says so by a header
 * @param freshness what the client says of how old a merged state may be
 * @param asOf the business time whose archived states the client wants, as it says it
 */
public record Request(
    String method,
    List<String> path,
    Map<String, String> query,
    String body,
    List<String> tags,
    boolean isOfMergingClient,
    Optional<String> freshness,
    Optional<String> asOf) {
  /** The header by which a client says how many seconds old a merged state may be. */
  public static final String FRESHNESS = "X-Keylake-Freshness";

  /** The header by which a client asks for the archived states of a business time. */
  public static final String AS_OF = "X-Keylake-As-Of";

  /** A commit names files of manifests and no rows; a schema of 10,000 columns takes 2 MB. */
  static final int MOST_BYTES = 16 << 20;

  /** A longer body is read up to this size, so that the client sees the answer. */
  private static final long MOST_BYTES_LEFT_OUT = 8L * MOST_BYTES;

  private static final int PIECE_BYTES = 1 << 16;

  public static Request of(HttpExchange exchange) throws IOException {
    return new Request(
        exchange.getRequestMethod(),
        path(exchange.getRequestURI().getRawPath()),
        query(exchange.getRequestURI().getRawQuery()),
        body(exchange.getRequestBody()),
        Optional.ofNullable(exchange.getRequestHeaders().getFirst("If-None-Match")).stream()
            .flatMap(tags -> Arrays.stream(tags.split(",")))
            .map(String::strip)
            .toList(),
        MergingClient.MERGES.equals(exchange.getRequestHeaders().getFirst(MergingClient.HEADER)),
        Optional.ofNullable(exchange.getRequestHeaders().getFirst(FRESHNESS)),
        Optional.ofNullable(exchange.getRequestHeaders().getFirst(AS_OF)));
  }

  public Optional<String> parameter(String name) {
    return Optional.ofNullable(query.get(name));
  }

  /** Names have neither a slash nor a percent sign here: these come encoded. */
  private static List<String> path(String raw) {
    String inside = raw.startsWith("/") ? raw.substring(1) : raw;
    return Arrays.stream(inside.split("/", -1)).map(RESTUtil::decodePathSegment).toList();
  }

  private static Map<String, String> query(String raw) {
    Map<String, String> found = new LinkedHashMap<>();
    for (String each : raw == null || raw.isEmpty() ? new String[0] : raw.split("&")) {
      String[] parts = each.split("=", 2);
      String value = parts.length > 1 ? parts[1] : "";
      found.putIfAbsent(RESTUtil.decodeString(parts[0]), RESTUtil.decodeString(value));
    }
    return found;
  }

  private static String body(InputStream stream) throws IOException {
    byte[] bytes = stream.readNBytes(MOST_BYTES + 1);
    if (bytes.length > MOST_BYTES) {
      byte[] piece = new byte[PIECE_BYTES]; // Java's stream skips what is behind the body, too
      for (long left = MOST_BYTES_LEFT_OUT; left > 0; left -= piece.length) {
        if (stream.readNBytes(piece, 0, piece.length) < piece.length) {
          break;
        }
      }
      throw new RequestRefused(
          413,
          "BadRequestException",
          "the body of the request has more than %d bytes, the most that the catalog takes; commit in smaller steps"
              .formatted(MOST_BYTES));
    }
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
