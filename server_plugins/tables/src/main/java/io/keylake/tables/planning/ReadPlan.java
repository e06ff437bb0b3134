package io.keylake.tables.planning;

import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.iceberg.types.Comparators;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * A planned read: its buckets, and what the same facts answer without opening a file. Immutable;
 * what narrows it gives another plan.
 */
public final class ReadPlan {
  /** Iceberg begins another page after so many. */
  private static final long ROWS_OF_A_PAGE = 20_000;

  private final KeyedSchema schema;
  private final int bucketCount;
  private final List<Bucket> buckets;

  /** One bucket with the sections that may hold wanted rows. */
  record Bucket(List<Serializable> partition, List<PlannedSection> sections) {
    BucketPlan plan() {
      return new BucketPlan(partition, sections.stream().map(PlannedSection::plan).toList());
    }

    long wantedBytes() {
      return sections.stream().mapToLong(PlannedSection::wantedBytes).sum();
    }
  }

  /**
   * The fineness to which a plain scan is to be spread.
   *
   * @param partitionBytes what a task should read at most
   * @param parallelism how many tasks run at once
   */
  public record Spread(long partitionBytes, int parallelism) {}

  ReadPlan(KeyedSchema schema, int bucketCount, List<Bucket> buckets) {
    this.schema = schema;
    this.bucketCount = bucketCount;
    this.buckets = buckets.stream().filter(bucket -> !bucket.sections().isEmpty()).toList();
  }

  /** The number of buckets of which these are some: as many as the coarsest of the files know. */
  public int bucketCount() {
    return bucketCount;
  }

  /** The buckets that have something to read, in no particular order. */
  public List<BucketPlan> buckets() {
    return buckets.stream().map(Bucket::plan).toList();
  }

  /**
   * The same rows in parts for more tasks: big buckets are cut between sections, and big sections
   * by key.
   */
  public List<BucketPlan> spread(Spread wanted, RowGroups rowGroups) {
    return new Slicer(schema, wanted, rowGroups).spread(buckets);
  }

  /** The number of files that are read. */
  public long files() {
    return sections().flatMap(PlannedSection::files).count();
  }

  /** About how many bytes of the wanted columns are read to find one key. */
  public long bytesOfOneKey() {
    return sections().flatMap(PlannedSection::files).mapToLong(this::bytesOfOneKey).sum();
  }

  /**
   * Pages say which keys they have, so that one of each column is read, where they can be asked.
   */
  private long bytesOfOneKey(PlannedFile file) {
    boolean isAsked =
        switch (schema.sortKey().get(0).type().typeId()) {
          case INTEGER, LONG, DATE, DECIMAL, STRING -> true;
          default -> false;
        };
    if (!isAsked) {
      return file.wantedBytes();
    }
    long rows = Math.max(file.file().rows(), 1);
    return file.wantedBytes() * Math.min(ROWS_OF_A_PAGE, rows) / rows;
  }

  /** A part of the plan that surely holds so many rows, or all of it. */
  public ReadPlan limited(long rows) {
    Optional<PlannedSection> enough =
        sections()
            .filter(section -> section.sureRows() >= rows)
            .min(Comparator.comparingLong(PlannedSection::wantedBytes));
    List<Bucket> taken = new ArrayList<>();
    long sure = 0;
    for (Bucket bucket : buckets) {
      List<PlannedSection> of = new ArrayList<>();
      for (PlannedSection section : bucket.sections()) {
        boolean isTaken = enough.isEmpty() ? sure < rows : section == enough.get();
        if (isTaken) {
          of.add(section);
          sure += section.sureRows();
        }
      }
      taken.add(new Bucket(bucket.partition(), of));
    }
    return new ReadPlan(schema, bucketCount, taken);
  }

  /**
   * The number of rows that the answer has.
   *
   * @param merged how many a section has whose runs are merged, where that is known
   * @return empty where only reading tells
   */
  public OptionalLong rowCount(Function<SectionPlan, OptionalLong> merged) {
    long all = 0;
    for (SectionPlan section : sections().map(PlannedSection::plan).toList()) {
      OptionalLong rows =
          section.passedThrough() ? OptionalLong.of(section.rows()) : merged.apply(section);
      if (rows.isEmpty()) {
        return rows;
      }
      all += rows.getAsLong();
    }
    return OptionalLong.of(all);
  }

  /** A bound of a key column over the answer. */
  public enum Extreme {
    SMALLEST,
    LARGEST
  }

  /**
   * The smallest or largest value of a key column, where files tell it exactly and no tombstone is
   * in the way. Null, in it, stands for an answer without rows.
   *
   * @return empty where only reading tells
   */
  public Optional<KeyValue> extreme(String keyColumn, Extreme extreme) {
    NestedField field = schema.key().get(schema.spec().key().indexOf(keyColumn));
    int at = schema.sortKey().indexOf(field);
    if (!isExact(field.type()) || !sections().allMatch(PlannedSection::isVisible)) {
      return Optional.empty();
    }
    List<Object> bounds =
        sections().flatMap(PlannedSection::files).map(file -> bound(file, at, extreme)).toList();
    if (bounds.contains(null)) {
      return Optional.empty();
    }
    Comparator<Object> order = Comparators.forType(field.type().asPrimitiveType());
    Comparator<Object> wanted = extreme == Extreme.SMALLEST ? order.reversed() : order;
    return Optional.of(new KeyValue(bounds.stream().max(wanted).orElse(null)));
  }

  /** A value as Iceberg has it, or null. */
  public record KeyValue(@Nullable Object value) {}

  /**
   * The bounds of text and bytes may be cut, and those of a uuid are not in one order everywhere.
   */
  private static boolean isExact(Type type) {
    return switch (type.typeId()) {
      case BOOLEAN, INTEGER, LONG, DATE, TIMESTAMP, DECIMAL -> true;
      default -> false;
    };
  }

  private static @Nullable Object bound(PlannedFile file, int at, Extreme extreme) {
    KeyBound bound = extreme == Extreme.SMALLEST ? file.facts().lower() : file.facts().upper();
    return bound.infinite() == 0 ? Objects.requireNonNull(bound.values().get(at)) : null;
  }

  private Stream<PlannedSection> sections() {
    return buckets.stream().flatMap(bucket -> bucket.sections().stream());
  }
}
