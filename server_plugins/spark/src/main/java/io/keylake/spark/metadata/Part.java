package io.keylake.spark.metadata;

import io.keylake.spark.read.scan.SparkValue;
import io.keylake.tables.metadata.TableFacts;
import io.keylake.tables.planning.Extent;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The tables of metadata beside a keyed table: their names, columns and rows. */
public enum Part {
  KEYED_FILES {
    @Override
    StructType type(KeyedSchema schema) {
      StructType own = new StructType().add("path", DataTypes.StringType);
      return joined(own, placed(schema), placeInOrder(), extent(schema, false));
    }

    @Override
    List<InternalRow> rows(TableFacts facts, KeyedSchema schema) {
      return facts.files().stream()
          .map(
              file ->
                  row(
                      Stream.of(file.location()),
                      placed(file.partition()),
                      Stream.of(file.commitOrder()),
                      Stream.of(file.committedAtMicros()),
                      extent(file.extent(), false)))
          .toList();
    }
  },
  RUNS {
    @Override
    StructType type(KeyedSchema schema) {
      StructType own = placeInOrder().add("settling", DataTypes.StringType);
      return joined(placed(schema), own, extent(schema, true));
    }

    @Override
    List<InternalRow> rows(TableFacts facts, KeyedSchema schema) {
      return facts.runs().stream()
          .map(
              run ->
                  row(
                      placed(run.partition()),
                      Stream.of(run.commitOrder()),
                      Stream.of(run.committedAtMicros()),
                      Stream.of(run.settling()),
                      extent(run.extent(), true)))
          .toList();
    }
  },
  SECTIONS {
    @Override
    StructType type(KeyedSchema schema) {
      StructType own =
          new StructType()
              .add("section", DataTypes.LongType)
              .add("runs", DataTypes.LongType)
              .add("reading", DataTypes.StringType);
      return joined(placed(schema), own, extent(schema, true));
    }

    @Override
    List<InternalRow> rows(TableFacts facts, KeyedSchema schema) {
      return facts.sections().stream()
          .map(
              section ->
                  row(
                      placed(section.partition()),
                      Stream.of(section.number(), section.runs(), section.reading()),
                      extent(section.extent(), true)))
          .toList();
    }
  },
  COMMITS {
    @Override
    StructType type(KeyedSchema schema) {
      return CommitRow.TYPE.add("commit_order", DataTypes.LongType);
    }

    @Override
    List<InternalRow> rows(TableFacts facts, KeyedSchema schema) {
      return facts.commits().stream()
          .map(
              commit ->
                  row(
                      Arrays.stream(CommitRow.values(commit.entry())),
                      Stream.of(commit.commitOrder())))
          .toList();
    }
  },
  BRANCHES {
    @Override
    StructType type(KeyedSchema schema) {
      return new StructType()
          .add("name", DataTypes.StringType)
          .add("type", DataTypes.StringType)
          .add("snapshot_id", DataTypes.LongType)
          .add("committed_at", DataTypes.TimestampType)
          .add("commits", DataTypes.LongType)
          .add("max_ref_age_ms", DataTypes.LongType)
          .add("min_snapshots_to_keep", DataTypes.IntegerType)
          .add("max_snapshot_age_ms", DataTypes.LongType);
    }

    @Override
    List<InternalRow> rows(TableFacts facts, KeyedSchema schema) {
      return facts.references().stream()
          .map(
              each ->
                  LocalRows.row(
                      each.name(),
                      each.isTag() ? "tag" : "branch",
                      each.snapshotId(),
                      each.committedAtMicros(),
                      each.commits(),
                      each.maxRefAgeMillis(),
                      each.minSnapshotsToKeep(),
                      each.maxSnapshotAgeMillis()))
          .toList();
    }
  },
  CONSUMERS {
    @Override
    StructType type(KeyedSchema schema) {
      return new StructType()
          .add("name", DataTypes.StringType)
          .add("snapshot_id", DataTypes.LongType)
          .add("committed_at", DataTypes.TimestampType)
          .add("commits_behind", DataTypes.LongType);
    }

    @Override
    List<InternalRow> rows(TableFacts facts, KeyedSchema schema) {
      return facts.consumers().stream()
          .map(
              each ->
                  LocalRows.row(
                      each.name(),
                      each.snapshotId(),
                      each.committedAtMicros(),
                      each.commitsBehind()))
          .toList();
    }
  };

  abstract StructType type(KeyedSchema schema);

  abstract List<InternalRow> rows(TableFacts facts, KeyedSchema schema);

  /** The name behind that of the table. */
  public String table() {
    return name().toLowerCase(Locale.ROOT);
  }

  public static Optional<Part> of(String table) {
    return Arrays.stream(values()).filter(part -> part.table().equalsIgnoreCase(table)).findFirst();
  }

  private static StructType joined(StructType... parts) {
    StructType all = new StructType();
    for (StructType part : parts) {
      for (var field : part.fields()) {
        all = all.add(field);
      }
    }
    return all;
  }

  private static InternalRow row(Stream<?>... parts) {
    List<Object> values = new ArrayList<>();
    for (Stream<?> part : parts) {
      part.forEach(values::add);
    }
    return LocalRows.row(values.toArray());
  }

  /** The bucket; the partition it is in only where the table has some, as in Iceberg's own. */
  private static StructType placed(KeyedSchema schema) {
    List<NestedField> columns =
        schema.spec().partitionBy().stream()
            .map(name -> schema.table().asStruct().field(name))
            .toList();
    StructType type = new StructType();
    return (columns.isEmpty() ? type : type.add("partition", struct(columns)))
        .add("bucket", DataTypes.IntegerType);
  }

  private static Stream<?> placed(List<Serializable> partition) {
    int last = partition.size() - 1;
    Stream<?> bucket = Stream.of(partition.get(last));
    return last == 0
        ? bucket
        : Stream.concat(Stream.of(values(partition.subList(0, last))), bucket);
  }

  private static StructType placeInOrder() {
    return new StructType()
        .add("commit_order", DataTypes.LongType)
        .add("committed_at", DataTypes.TimestampType);
  }

  /**
   * @param isOfMany whether it is of several files
   */
  private static StructType extent(KeyedSchema schema, boolean isOfMany) {
    StructType type = new StructType();
    return (isOfMany ? type.add("files", DataTypes.LongType) : type)
        .add("rows", DataTypes.LongType)
        .add("live_rows", DataTypes.LongType)
        .add("bytes", DataTypes.LongType)
        .add("lower", struct(schema.key()))
        .add("upper", struct(schema.key()))
        .add("min_version", DataTypes.LongType)
        .add("max_version", DataTypes.LongType)
        .add("columns", DataTypes.createArrayType(DataTypes.StringType))
        .add("has_tombstones", DataTypes.BooleanType);
  }

  private static Stream<?> extent(Extent extent, boolean isOfMany) {
    return Stream.of(
            extent.files(),
            extent.rows(),
            extent.liveRows(),
            extent.bytes(),
            extent.lower() == null ? null : values(extent.lower()),
            extent.upper() == null ? null : values(extent.upper()),
            extent.minVersion(),
            extent.maxVersion(),
            extent.columns(),
            extent.hasTombstones())
        .skip(isOfMany ? 0 : 1);
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
