package io.keylake.spark.rest;

import io.keylake.spark.rest.http.Answer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.apache.iceberg.rest.Endpoint;

/**
 * An endpoint of Iceberg's protocol, and what it does.
 *
 * @param template the segments of its path; those in braces are variable
 */
record Route(Endpoint endpoint, List<String> template, Function<Call, Answer> action) {
  static Route of(Endpoint endpoint, Function<Call, Answer> action) {
    String inside = endpoint.path().substring(1);
    return new Route(endpoint, Arrays.asList(inside.split("/")), action);
  }

  /** The variable parts of a path by their names; empty for a path of another endpoint. */
  Optional<Map<String, String>> names(List<String> path) {
    if (path.size() != template.size()) {
      return Optional.empty();
    }
    Map<String, String> names = new HashMap<>();
    for (int i = 0; i < path.size(); i++) {
      String segment = template.get(i);
      if (segment.startsWith("{")) {
        names.put(segment.substring(1, segment.length() - 1), path.get(i));
      } else if (!segment.equals(path.get(i))) {
        return Optional.empty();
      }
    }
    return Optional.of(names);
  }
}
