package io.keylake.spark.write.tasks;

import io.keylake.spark.parquet.SortedFiles;
import io.keylake.spark.write.request.WriteOptions;
import io.keylake.tables.lateness.FileMark;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.jspecify.annotations.Nullable;

/**
 * Makes the writers of one write, each for a part of its rows.
 *
 * @param fixedVersion of all rows; null where each says its own
 * @param replaces the partitions that the rows may lie in
 * @param targetFileSize in bytes
 * @param operation a part of the names of files that no other write has
 * @param lateBelow the version below which rows are late, and written apart; null where none is
 * @param holdsBack whether rows that fail a condition are written apart
 * @param tests of rows that come without having been tested; null where they have been, or need not
 */
public record PartWriters(
    KeyedSchema schema,
    WriteLayout layout,
    WriteOptions.Verb verb,
    @Nullable Long fixedVersion,
    Expression replaces,
    long targetFileSize,
    String operation,
    @Nullable Long lateBelow,
    boolean holdsBack,
    @Nullable RowFailures tests)
    implements Serializable {
  private static final String HELD = "held-";

  /**
   * @param part which no other writer of the write has with the same attempt
   */
  public DataWriter<InternalRow> writer(Table table, int part, long attempt) {
    return writer(files(table, places(table, part, attempt, timely())), table, part, attempt);
  }

  /** Makes so many writers, which are used in one process. */
  public List<DataWriter<InternalRow>> writers(Table table, int parts) {
    List<DataWriter<InternalRow>> writers = new ArrayList<>();
    SortedFiles first = files(table, places(table, 0, 0, timely()));
    for (int i = 0; i < parts; i++) {
      SortedFiles files = i == 0 ? first : first.beside(places(table, i, 0, timely()));
      writers.add(writer(files, table, i, 0));
    }
    return writers;
  }

  private DataWriter<InternalRow> writer(SortedFiles files, Table table, int part, long attempt) {
    CheckedRows.Failure failure =
        tests != null
            ? tests.failures(layout, new RowCheck(layout, schema.spec()))
            : layout.failed() >= 0 ? CheckedRows.Failure.inColumn(layout.failed()) : null;
    TaskWriter passing = passing(files, table, part, attempt);
    if (failure == null) {
      return passing;
    }
    return new CheckedRows(
        layout,
        failure,
        passing,
        holdsBack ? writer(files.beside(places(table, part, attempt, HELD))) : null);
  }

  /** The mark of files of rows that are not late; empty where none can be. */
  private String timely() {
    return lateBelow == null ? "" : FileMark.timely(lateBelow).text();
  }

  private TaskWriter passing(SortedFiles files, Table table, int part, long attempt) {
    if (lateBelow == null) {
      return writer(files);
    }
    String late = FileMark.late(lateBelow).text();
    return new LateRows(
        new RowVersions(layout, fixedVersion),
        lateBelow,
        layout.areAlike(),
        writer(files),
        writer(files.beside(places(table, part, attempt, late))));
  }

  /** The same, with tests of rows. */
  public PartWriters testing(RowFailures all) {
    return new PartWriters(
        schema,
        layout,
        verb,
        fixedVersion,
        replaces,
        targetFileSize,
        operation,
        lateBelow,
        holdsBack,
        all);
  }

  private KeyedDataWriter writer(SortedFiles sorted) {
    BucketFiles files = new BucketFiles(layout, sorted, replaces);
    return new KeyedDataWriter(schema, layout, verb, new RowVersions(layout, fixedVersion), files);
  }

  private SortedFiles files(Table table, OutputFileFactory places) {
    return new SortedFiles(table, schema, layout.stored(), places, targetFileSize);
  }

  /**
   * @param kind of the rows, as names of files say it
   */
  private OutputFileFactory places(Table table, int part, long attempt, String kind) {
    return OutputFileFactory.builderFor(table, part, attempt)
        .format(FileFormat.PARQUET)
        .operationId(kind + operation)
        .build();
  }
}
