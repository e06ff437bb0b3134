package io.keylake.spark.registration;

import static io.keylake.spark.registration.SourceColumns.column;
import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.spark.engine.ClassicSession;
import io.keylake.tables.KeylakeException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * Makes a keyed table of the rows of a source, by the path of CREATE TABLE ... AS SELECT: all rows
 * go to a staged table, which all see in one step.
 *
 * @param source what errors call it
 */
public record Registration(String source, StructType schema, DefinitionWords words) {

  /** Begins the table, before rows are read: what is committed to it later is noticed. */
  public interface Stage {
    StagedTable of(TableInfo statement) throws TableAlreadyExistsException, NoSuchTableException;
  }

  /** Gives the rows of the source. */
  public interface Source {
    Dataset<Row> rows();
  }

  /**
   * @param rowsRead of the source
   * @param writeId of the commit that has written them
   */
  public record Outcome(long rowsRead, String writeId) {}

  /** A registration whose words are complete: what the call does not say, the columns tell. */
  public static Registration of(
      String source, StructType schema, List<String> identifier, DefinitionWords said) {
    SourceColumns columns = SourceColumns.of(schema);
    List<String> key = identifier.isEmpty() ? columns.key(schema) : identifier;
    return new Registration(source, schema, said.of(key, columns.isChangelog()));
  }

  public Outcome run(Stage stage, Source from)
      throws TableAlreadyExistsException, NoSuchTableException {
    SourceColumns columns = SourceColumns.of(schema);
    StagedTable staged = stage.of(words.statement(columns.kept(schema), source));
    boolean isDone = false;
    try {
      Dataset<Row> all = from.rows();
      Dataset<Row> rows = columns.written(all);
      if (words.ordering() == null && words.version() == null) {
        checkNoneRepeated(rows);
      }
      Outcome outcome = new Outcome(all.count(), UUID.randomUUID().toString());
      ClassicSession.active().append(staged, rows, options(columns, outcome.writeId()));
      staged.commitStagedChanges();
      isDone = true;
      return outcome;
    } finally {
      if (!isDone) {
        staged.abortStagedChanges();
      }
    }
  }

  private Map<String, String> options(SourceColumns columns, String writeId) {
    Map<String, String> options = new HashMap<>();
    options.put("write_id", writeId);
    options.put("verb", columns.isChangelog() ? "apply_changes" : "upsert");
    if (columns.isChangelog()) {
      options.put("op", SourceColumns.KIND);
      options.put("row_order", SourceColumns.SEQUENCE);
    }
    if (words.version() != null) {
      options.put("version", words.version());
    }
    return options;
  }

  /** Refuses repeated keys: without versions nothing says which of two rows is the newer one. */
  private void checkNoneRepeated(Dataset<Row> rows) {
    Column[] key = words.key().stream().map(SourceColumns::column).toArray(Column[]::new);
    String count = "_merge_info:rows";
    @Nullable Row repeated =
        rows
            .groupBy(key)
            .agg(functions.count(functions.lit(1)).as(count))
            .filter(column(count).gt(1))
            .limit(1)
            .collectAsList()
            .stream()
            .findFirst()
            .orElse(null);
    if (repeated == null) {
      return;
    }
    List<String> values = new ArrayList<>();
    for (int i = 0; i < key.length; i++) {
      values.add(words.key().get(i) + "=" + repeated.get(i));
    }
    throw new KeylakeException(
        BAD_ROWS,
        "%s has %d rows with key %s, and nothing says which is the newest; say ordering => 'column', or leave one row of each key"
            .formatted(source, repeated.getLong(key.length), String.join(", ", values)));
  }
}
