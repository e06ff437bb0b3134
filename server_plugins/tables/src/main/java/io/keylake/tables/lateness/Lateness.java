package io.keylake.tables.lateness;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.Watermarks;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec;
import io.keylake.tables.spec.TableSpec.Versions;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Type.TypeID;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * The lateness that a table allows: a row whose event time lies further than that behind the
 * watermark is late. Late rows go to files of their own, which reads of timely rows do not open.
 */
public record Lateness(Duration allowed) {
  /** The property of a table, such as {@code 1 hour}. */
  public static final String PROPERTY = "keylake.lateness";

  /** A century: beyond it, limits would leave the times that clients know. */
  private static final Duration LONGEST = Duration.ofDays(36_525);

  private static final Pattern TEXT =
      Pattern.compile("\\s*(\\d{1,9})\\s+(second|minute|hour|day)s?\\s*");

  /** The lateness of a table; null where it allows any. */
  public static @Nullable Lateness of(Table table) {
    String text = table.properties().get(PROPERTY);
    return text == null ? null : parse(text);
  }

  public static Lateness parse(String text) {
    Matcher found = TEXT.matcher(text.toLowerCase(Locale.ROOT));
    if (!found.matches()) {
      throw new KeylakeException(
          DEFINITION,
          "the lateness of a table is '%s'; it is a whole number of seconds, minutes, hours or days, such as '1 hour'"
              .formatted(text));
    }
    String unit = Objects.requireNonNull(found.group(2), "of the pattern");
    String number = Objects.requireNonNull(found.group(1), "of the pattern");
    Duration allowed =
        Duration.of(
            Long.parseLong(number), ChronoUnit.valueOf(unit.toUpperCase(Locale.ROOT) + "S"));
    if (allowed.compareTo(LONGEST) > 0) {
      throw new KeylakeException(
          DEFINITION,
          "the lateness of a table is '%s'; it is at most %d days"
              .formatted(text, LONGEST.toDays()));
    }
    return new Lateness(allowed);
  }

  /** Refuses a lateness that cannot be told from the versions of a table. */
  public static void check(Map<String, String> properties, TableSpec spec, Schema columns) {
    String text = properties.get(PROPERTY);
    if (text == null) {
      return;
    }
    parse(text);
    String ordering = spec.ordering();
    NestedField column = ordering == null ? null : columns.findField(ordering);
    if (spec.versions() != Versions.ORDERING
        || column == null
        || column.type().typeId() != TypeID.TIMESTAMP) {
      throw new KeylakeException(
          DEFINITION,
          "the lateness '%s' is against event times, and %s; declare a timestamp as the ordering column, or leave the lateness out"
              .formatted(
                  text,
                  column == null
                      ? "the table has no ordering column"
                      : "ordering column '%s' is %s".formatted(ordering, column.type())));
    }
    accumulator(spec)
        .ifPresent(
            accumulator -> {
              throw new KeylakeException(
                  DEFINITION,
                  "the lateness '%s' is not for tables with accumulators, which need the order of commits, and column '%s' is one; leave the lateness out"
                      .formatted(text, accumulator));
            });
  }

  private static Optional<String> accumulator(TableSpec spec) {
    return spec.reducers().entrySet().stream()
        .filter(each -> each.getValue().accumulates())
        .map(Map.Entry::getKey)
        .findFirst();
  }

  /**
   * The version below which a row is late.
   *
   * @param head where the branch stands that is written to
   * @return null where the table allows any lateness, or knows no watermark yet
   */
  public static @Nullable Long limit(Table table, KeyedSchema schema, @Nullable Long head) {
    Lateness lateness = of(table);
    TableSpec spec = schema.spec();
    if (lateness == null || spec.versions() != Versions.ORDERING || accumulator(spec).isPresent()) {
      return null;
    }
    Long reached = Watermarks.said(table, head).reached(null);
    if (reached == null) {
      return null;
    }
    long micros = lateness.allowed().toSeconds() * 1_000_000L;
    return reached < Long.MIN_VALUE + micros ? Long.MIN_VALUE : reached - micros;
  }
}
