package io.keylake.tables.storage;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A folder or file in a store, in a form in which one place has one spelling: without {@code .},
 * {@code ..}, double or trailing slashes, and on a local disk without symbolic links.
 *
 * @param scheme of the store; empty where the location says none, which matches any
 * @param authority the bucket or host; empty where the location says none, which matches any
 * @param parts the names of the folders, from the root of the store
 */
record Place(String scheme, String authority, List<String> parts) {
  private static final String LOCAL = "file";
  private static final Pattern LOCATION =
      Pattern.compile("(?:([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?)?(.*)", Pattern.DOTALL);
  private static final Pattern OTHER_NAMES_OF_S3 = Pattern.compile("s3[an]");

  /** The place that a location names. */
  static Place of(String location) {
    Place written = written(location);
    return written.mayBeOnDisk() ? written.withoutLinks() : written;
  }

  /** The place as the location spells it: symbolic links stay. */
  static Place written(String location) {
    Matcher match = LOCATION.matcher(location);
    if (!match.matches()) {
      throw new IllegalStateException("every text matches: " + location);
    }
    String scheme = match.group(1) == null ? "" : match.group(1).toLowerCase(Locale.ROOT);
    String authority = match.group(2) == null ? "" : match.group(2);
    return new Place(scheme, authority, normalized(match.group(3)));
  }

  private static List<String> normalized(String path) {
    List<String> parts = new ArrayList<>();
    for (String part : path.split("/")) {
      if (part.equals("..")) {
        if (!parts.isEmpty()) {
          parts.remove(parts.size() - 1);
        }
      } else if (!part.isEmpty() && !part.equals(".")) {
        parts.add(part);
      }
    }
    return List.copyOf(parts);
  }

  boolean isOnDisk() {
    return scheme.equals(LOCAL);
  }

  private boolean mayBeOnDisk() {
    return isOnDisk() || scheme.isEmpty();
  }

  /** Folders that are not there yet cannot be links. */
  private Place withoutLinks() {
    for (int length = parts.size(); length > 0; length--) {
      try {
        Path real = path(parts.subList(0, length)).toRealPath();
        List<String> resolved = new ArrayList<>();
        real.forEach(part -> resolved.add(part.toString()));
        resolved.addAll(parts.subList(length, parts.size()));
        return new Place(scheme, authority, List.copyOf(resolved));
      } catch (IOException e) {
        // not there: its parent may be
      }
    }
    return this;
  }

  private static Path path(List<String> parts) {
    return Path.of("/" + String.join("/", parts));
  }

  /** The other place is this one or lies below it. */
  boolean holds(Place other) {
    return matches(store(), other.store())
        && matches(authority, other.authority)
        && other.parts.size() >= parts.size()
        && other.parts.subList(0, parts.size()).equals(parts);
  }

  private String store() {
    return OTHER_NAMES_OF_S3.matcher(scheme).matches() ? "s3" : scheme;
  }

  private static boolean matches(String one, String other) {
    return one.isEmpty() || other.isEmpty() || one.equals(other);
  }

  boolean isSame(Place other) {
    return holds(other) && other.holds(this);
  }

  boolean isRoot() {
    return parts.isEmpty();
  }

  String name() {
    return parts.get(parts.size() - 1);
  }

  /** The folder that this place lies in. */
  Place parent() {
    return new Place(scheme, authority, parts.subList(0, parts.size() - 1));
  }

  Place child(String name) {
    List<String> longer = new ArrayList<>(parts);
    longer.add(name);
    return new Place(scheme, authority, List.copyOf(longer));
  }

  /** A location that names the place. */
  String location() {
    String path = "/" + String.join("/", parts);
    if (scheme.isEmpty() && authority.isEmpty()) {
      return path;
    }
    String prefix = scheme.isEmpty() ? "" : scheme + ":";
    return authority.isEmpty() ? prefix + path : prefix + "//" + authority + path;
  }
}
