package io.keylake.spark.rest;

import io.keylake.spark.rest.http.Request;
import io.keylake.spark.rest.http.RequestRefused;
import io.keylake.tables.catalogs.PointerCatalog;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeParseException;
import java.util.Map;
import java.util.Optional;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.SupportsNamespaces;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.catalog.ViewCatalog;
import org.apache.iceberg.rest.RESTUtil;
import org.jspecify.annotations.Nullable;

/**
 * A request that a route has taken.
 *
 * @param names the variable parts of the path, by their names in Iceberg's protocol
 * @param catalog that the path names
 * @param warehouse the option of that name of the catalog; null where it has none
 */
record Call(
    Request request, Map<String, String> names, Catalog catalog, @Nullable String warehouse) {
  /** The sign between the levels of a namespace. */
  private static final String BETWEEN_LEVELS = "\u001f";

  Namespace namespace() {
    return namespace(named("namespace"));
  }

  TableIdentifier table() {
    return TableIdentifier.of(namespace(), named("table"));
  }

  TableIdentifier view() {
    return TableIdentifier.of(namespace(), named("view"));
  }

  /**
   * The namespace that a list is asked for; the top where none is named. PyIceberg encodes its
   * levels twice, so the name is decoded once more where there is no namespace of that name.
   */
  Namespace parent() {
    String levels = request.parameter("parent").orElse("");
    if (levels.isEmpty()) {
      return Namespace.empty();
    }
    Namespace named = namespace(levels);
    Namespace decoded = namespace(RESTUtil.decodePathSegment(levels));
    return named.equals(decoded) || namespaces().namespaceExists(named) ? named : decoded;
  }

  /** The size of a page; empty where all of a list is wanted. */
  Optional<String> pageSize() {
    Optional<String> size = request.parameter("pageSize").filter(each -> !each.isEmpty());
    if (size.isPresent() && !size.get().matches("[1-9]\\d{0,8}")) {
      throw RequestRefused.bad(
          "pageSize=%s is no size of a page; use a whole number from 1".formatted(size.get()));
    }
    return size;
  }

  /** The age that a merged state may have; null where the client does not say it. */
  @Nullable Duration freshness() {
    String seconds = request.freshness().orElse("");
    if (seconds.isEmpty()) {
      return null;
    }
    if (!seconds.matches("\\d{1,5}(\\.\\d{1,3})?")) {
      throw RequestRefused.bad(
          "%s is '%s'; use seconds, such as 0 or 0.5".formatted(Request.FRESHNESS, seconds));
    }
    return Duration.ofMillis(new BigDecimal(seconds).movePointRight(3).longValue());
  }

  /** The business time whose archived states are wanted; null for tables as they are now. */
  @Nullable Instant asOf() {
    String time = request.asOf().orElse("").strip();
    if (time.isEmpty()) {
      return null;
    }
    try {
      return time.indexOf('T') < 0
          ? LocalDate.parse(time).atStartOfDay(ZoneOffset.UTC).toInstant()
          : OffsetDateTime.parse(time).toInstant();
    } catch (DateTimeParseException e) {
      throw RequestRefused.bad(
          "%s is '%s'; use a date or a time with a zone, such as 2026-11-01 or 2026-11-01T09:30:00Z"
              .formatted(Request.AS_OF, time));
    }
  }

  /** The place in a list where a page begins. */
  String pageToken() {
    String token = request.parameter("pageToken").orElse("");
    if (!token.matches("\\d{0,9}")) {
      throw RequestRefused.bad(
          "pageToken=%s is none of this server; begin the list again without it".formatted(token));
    }
    return token;
  }

  SupportsNamespaces namespaces() {
    if (catalog instanceof SupportsNamespaces namespaces) {
      return namespaces;
    }
    throw new UnsupportedOperationException(
        "catalog %s has no namespaces".formatted(catalog.name()));
  }

  /** The catalog, which changes several tables in one step. */
  PointerCatalog pointerCatalog() {
    if (catalog instanceof PointerCatalog several) {
      return several;
    }
    throw new UnsupportedOperationException(
        "catalog %s cannot change several tables at once, which a catalog in a database (type jdbc) can; commit one table after the other"
            .formatted(catalog.name()));
  }

  ViewCatalog views() {
    if (catalog instanceof ViewCatalog views) {
      return views;
    }
    throw new UnsupportedOperationException("catalog %s has no views".formatted(catalog.name()));
  }

  private String named(String part) {
    String name = names.getOrDefault(part, "");
    if (name.isEmpty()) {
      throw RequestRefused.bad("the path names no %s; put its name there".formatted(part));
    }
    return name;
  }

  private static Namespace namespace(String levels) {
    String[] parts = levels.split(BETWEEN_LEVELS, -1);
    for (String part : parts) {
      if (part.isEmpty()) {
        throw RequestRefused.bad(
            "a level of namespace '%s' has no name; separate levels by %%1F"
                .formatted(String.join(".", parts)));
      }
    }
    return Namespace.of(parts);
  }
}
