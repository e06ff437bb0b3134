package io.keylake.spark.write;

import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;

import io.keylake.spark.access.AccessControl;
import io.keylake.spark.keys.ColumnTypes;
import io.keylake.spark.write.KeyedWriteBuilder.Rows;
import io.keylake.spark.write.request.Requirement;
import io.keylake.spark.write.request.WriteOptions;
import io.keylake.spark.write.tasks.KeyedDataWriter.Written;
import io.keylake.spark.write.tasks.PartWriters;
import io.keylake.spark.write.tasks.RowFailures;
import io.keylake.tables.GuestApi;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.spec.HelperColumn;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The share of one table in a write to many: each row says its version, what it does with its key,
 * and which columns it carries. Whoever runs the job makes the writers in its tasks, gives them
 * sorted rows, and commits what they have written.
 */
@GuestApi
public final class TableWrite {
  private final KeyedWrite write;
  private final Table table;
  private final WriteLabels labels;
  private final String operation;
  private final KeyedSchema schema;
  private final List<String> required;

  private TableWrite(
      KeyedWrite write,
      Table table,
      WriteLabels labels,
      String operation,
      KeyedSchema schema,
      List<String> required) {
    this.schema = schema;
    this.required = required;
    this.write = write;
    this.table = table;
    this.labels = labels;
    this.operation = operation;
  }

  /**
   * @param said the options of the write that concern its commit
   * @param operation a part of the names of files that no other write has
   */
  public static TableWrite of(
      SparkSession spark,
      Table table,
      KeyedSchema schema,
      Map<String, String> said,
      String operation) {
    Map<String, String> given = new HashMap<>(said);
    given.put("verb", WriteOptions.Verb.APPLY_CHANGES.word());
    given.put("version", HelperColumn.VERSION);
    given.put("op", HelperColumn.OP);
    given.put("columns_from", HelperColumn.COLUMNS_FROM);
    LogicalWriteInfo info =
        new Info(new CaseInsensitiveStringMap(given), operation, rowType(schema));
    WriteOptions options = WriteOptions.of(given, WriteOptions.Verb.UPDATE);
    KeyedWrite write =
        new KeyedWrite(
            spark, table, null, schema, info, options, Rows.IN_PLACE, new Effect.Adds(null));
    WriteLabels labels =
        options
            .labels()
            .by(spark.sparkContext().sparkUser())
            .certified(AccessControl.principalOfThread());
    Requirement requirement = options.requirement();
    List<String> required = requirement == null ? List.of() : requirement.conditions();
    return new TableWrite(write, table, labels, operation, schema, required);
  }

  /**
   * The driver may write so many rows to tables itself, as it writes few rows of one table.
   *
   * @param schemas of the tables
   */
  public static boolean areFew(long rows, List<KeyedSchema> schemas) {
    return schemas.stream().allMatch(schema -> rows <= DriverWrite.mostRows(schema));
  }

  /**
   * The same of rows that are at hand.
   *
   * @param type of the rows
   */
  public static boolean areFew(List<InternalRow> rows, StructType type, List<KeyedSchema> schemas) {
    return areFew(rows.size(), schemas) && DriverWrite.areSmall(rows, type);
  }

  private record Info(CaseInsensitiveStringMap options, String queryId, StructType schema)
      implements LogicalWriteInfo {}

  /** The columns of a row: the key, all values, and what the writer wants to know beside them. */
  public static StructType rowType(KeyedSchema schema) {
    StructType type = new StructType();
    for (NestedField field : schema.key()) {
      type = type.add(field.name(), ColumnTypes.spark(field));
    }
    for (NestedField field : schema.values()) {
      type = type.add(field.name(), ColumnTypes.spark(field));
    }
    type = type.add(KeyedSchema.BUCKET, DataTypes.IntegerType);
    if (schema.hasGroups()) {
      type = type.add(KeyedSchema.GROUP, DataTypes.IntegerType);
    }
    return type.add(HelperColumn.VERSION, DataTypes.LongType)
        .add(HelperColumn.OP, DataTypes.StringType)
        .add(HelperColumn.COLUMNS_FROM, DataTypes.createArrayType(DataTypes.StringType));
  }

  /** Makes the writers of a table, in tasks. */
  public static final class Writers implements Serializable {
    private static final long serialVersionUID = 1L;
    private final Table table;
    private final PartWriters parts;

    private Writers(Table table, PartWriters parts) {
      this.table = table;
      this.parts = parts;
    }

    /**
     * @param part which no other task of the job has with the same attempt
     */
    public DataWriter<InternalRow> writer(int part, long attempt) {
      return parts.writer(table, part, attempt);
    }

    /** Deletes what one of them has written. */
    public void delete(WriterCommitMessage written) {
      for (DataFile file : ((Written) written).all()) {
        table.io().deleteFile(file.location());
      }
    }
  }

  /** Refuses a table that takes no writes as it is. */
  public Writers writers() {
    PartWriters untested = write.writers(operation);
    PartWriters parts = required.isEmpty() ? untested : untested.testing(tests());
    return new Writers(SerializableTable.copyOf(table), parts);
  }

  private RowFailures tests() {
    try {
      return RowFailures.of(required, schema, rowType(schema));
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) { // Spark's, which are not declared
      throw new KeylakeException(
          SCHEMA_MISMATCH,
          "a condition of %s cannot be tested on its rows: %s"
              .formatted(
                  String.join(", ", required),
                  String.valueOf(e.getMessage()).lines().findFirst().orElse("")),
          e);
    }
  }

  /** Commits what the tasks have written. */
  public Commits.Result commit(List<WriterCommitMessage> written) {
    return write.commit(written.toArray(WriterCommitMessage[]::new), labels);
  }

  /** Deletes what the tasks have written, unless a commit may have it. */
  public void abort(List<WriterCommitMessage> written) {
    write.abort(written.toArray(WriterCommitMessage[]::new));
  }
}
