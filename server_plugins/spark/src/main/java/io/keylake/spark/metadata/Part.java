package io.keylake.spark.metadata;

import io.keylake.spark.engine.RowType;
import io.keylake.spark.read.scan.SparkValue;
import io.keylake.tables.history.PointInTime;
import io.keylake.tables.metadata.TableFacts;
import io.keylake.tables.planning.Extent;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/** The tables of metadata beside a keyed table: their names, columns and rows. */
public enum Part {
  KEYED_FILES(FileRow.class, facts -> facts.files().stream().map(FileRow::of)),
  RUNS(RunRow.class, facts -> facts.runs().stream().map(RunRow::of)),
  SECTIONS(SectionRow.class, facts -> facts.sections().stream().map(SectionRow::of)),
  COMMITS(OrderedCommitRow.class, facts -> facts.commits().stream().map(OrderedCommitRow::of)),
  BRANCHES(ReferenceRow.class, facts -> facts.references().stream().map(ReferenceRow::of)),
  CONSUMERS(ConsumerRow.class, facts -> facts.consumers().stream().map(ConsumerRow::of));

  private final Rows<?> rows;

  <R extends Record> Part(Class<R> type, Function<TableFacts, Stream<R>> all) {
    this.rows = new Rows<>(type, all);
  }

  StructType type(KeyedSchema schema) {
    return rows.type(schema).type();
  }

  List<InternalRow> rows(TableFacts facts, KeyedSchema schema) {
    return rows.of(facts, schema);
  }

  /** The name behind that of the table. */
  public String table() {
    return name().toLowerCase(Locale.ROOT);
  }

  public static Optional<Part> of(String table) {
    return Arrays.stream(values()).filter(part -> part.table().equalsIgnoreCase(table)).findFirst();
  }

  private record Rows<R extends Record>(Class<R> row, Function<TableFacts, Stream<R>> all) {
    /**
     * The columns; a partition is one only where the table has some, as in Iceberg's own tables.
     */
    RowType<R> type(KeyedSchema schema) {
      Map<String, StructType> structs = new HashMap<>();
      structs.put("lower", struct(schema.key()));
      structs.put("upper", struct(schema.key()));
      if (!schema.spec().partitionBy().isEmpty()) {
        structs.put(
            "partition",
            struct(
                schema.spec().partitionBy().stream()
                    .map(name -> schema.table().asStruct().field(name))
                    .toList()));
      }
      return RowType.with(row, structs);
    }

    List<InternalRow> of(TableFacts facts, KeyedSchema schema) {
      return type(schema).rows(all.apply(facts));
    }
  }

  /** The cell of some files. */
  private record PlaceRow(InternalRow partition, int bucket) {
    static PlaceRow of(List<Serializable> partition) {
      int last = partition.size() - 1;
      return new PlaceRow(values(partition.subList(0, last)), (Integer) partition.get(last));
    }
  }

  /** The amount of what some files hold, and its bounds; bounds that are not known are null. */
  private record ExtentRow(
      long rows,
      long liveRows,
      long bytes,
      @Nullable InternalRow lower,
      @Nullable InternalRow upper,
      @Nullable Long minVersion,
      @Nullable Long maxVersion,
      List<String> columns,
      boolean hasTombstones) {
    static ExtentRow of(Extent extent) {
      return new ExtentRow(
          extent.rows(),
          extent.liveRows(),
          extent.bytes(),
          extent.lower() == null ? null : values(extent.lower()),
          extent.upper() == null ? null : values(extent.upper()),
          extent.minVersion(),
          extent.maxVersion(),
          extent.columns(),
          extent.hasTombstones());
    }
  }

  private record FileRow(
      String path,
      PlaceRow place,
      long commitOrder,
      @Nullable Instant committedAt,
      ExtentRow extent) {
    static FileRow of(TableFacts.File file) {
      return new FileRow(
          file.location(),
          PlaceRow.of(file.partition()),
          file.commitOrder(),
          moment(file.committedAtMicros()),
          ExtentRow.of(file.extent()));
    }
  }

  private record RunRow(
      PlaceRow place,
      long commitOrder,
      @Nullable Instant committedAt,
      String settling,
      long files,
      ExtentRow extent) {
    static RunRow of(TableFacts.Run run) {
      return new RunRow(
          PlaceRow.of(run.partition()),
          run.commitOrder(),
          moment(run.committedAtMicros()),
          run.settling(),
          run.extent().files(),
          ExtentRow.of(run.extent()));
    }
  }

  private record SectionRow(
      PlaceRow place, long section, long runs, String reading, long files, ExtentRow extent) {
    static SectionRow of(TableFacts.Section section) {
      return new SectionRow(
          PlaceRow.of(section.partition()),
          section.number(),
          section.runs(),
          section.reading(),
          section.extent().files(),
          ExtentRow.of(section.extent()));
    }
  }

  private record OrderedCommitRow(CommitRow commit, long commitOrder) {
    static OrderedCommitRow of(TableFacts.Commit commit) {
      return new OrderedCommitRow(CommitRow.of(commit.entry()), commit.commitOrder());
    }
  }

  private record ReferenceRow(
      String name,
      String type,
      long snapshotId,
      Instant committedAt,
      @Nullable Long commits,
      @Nullable Long maxRefAgeMs,
      @Nullable Integer minSnapshotsToKeep,
      @Nullable Long maxSnapshotAgeMs) {
    static ReferenceRow of(TableFacts.Reference reference) {
      return new ReferenceRow(
          reference.name(),
          reference.isTag() ? "tag" : "branch",
          reference.snapshotId(),
          PointInTime.ofMicros(reference.committedAtMicros()),
          reference.commits(),
          reference.maxRefAgeMillis(),
          reference.minSnapshotsToKeep(),
          reference.maxSnapshotAgeMillis());
    }
  }

  private record ConsumerRow(
      String name,
      @Nullable Long snapshotId,
      @Nullable Instant committedAt,
      @Nullable Long commitsBehind) {
    static ConsumerRow of(TableFacts.Consumer consumer) {
      return new ConsumerRow(
          consumer.name(),
          consumer.snapshotId(),
          moment(consumer.committedAtMicros()),
          consumer.commitsBehind());
    }
  }

  private static @Nullable Instant moment(@Nullable Long micros) {
    return micros == null ? null : PointInTime.ofMicros(micros);
  }

  private static StructType struct(List<NestedField> columns) {
    StructType type = new StructType();
    for (NestedField column : columns) {
      type = type.add(column.name(), SparkSchemaUtil.convert(column.type()));
    }
    return type;
  }

  private static InternalRow values(List<?> values) {
    return new GenericInternalRow(values.stream().map(SparkValue::of).toArray());
  }
}
