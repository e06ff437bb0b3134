package io.keylake.spark.write.tasks;

import io.keylake.spark.parquet.SortedFiles;
import io.keylake.spark.write.request.WriteOptions;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.io.OutputFileFactory;
import org.jspecify.annotations.Nullable;

/**
 * Makes the writers of one write, each for a part of its rows.
 *
 * @param fixedVersion of all rows; null where each says its own
 * @param replaces the partitions that the rows may lie in
 * @param targetFileSize in bytes
 * @param operation a part of the names of files that no other write has
 */
public record PartWriters(
    KeyedSchema schema,
    WriteLayout layout,
    WriteOptions.Verb verb,
    @Nullable Long fixedVersion,
    Expression replaces,
    long targetFileSize,
    String operation)
    implements Serializable {

  /**
   * @param part which no other writer of the write has with the same attempt
   */
  public KeyedDataWriter writer(Table table, int part, long attempt) {
    return writer(files(table, places(table, part, attempt)));
  }

  /** Makes so many writers, which are used in one process. */
  public List<KeyedDataWriter> writers(Table table, int parts) {
    List<KeyedDataWriter> writers = new ArrayList<>();
    SortedFiles first = files(table, places(table, 0, 0));
    for (int i = 0; i < parts; i++) {
      writers.add(writer(i == 0 ? first : first.beside(places(table, i, 0))));
    }
    return writers;
  }

  private KeyedDataWriter writer(SortedFiles sorted) {
    BucketFiles files = new BucketFiles(layout, sorted, replaces);
    return new KeyedDataWriter(schema, layout, verb, new RowVersions(layout, fixedVersion), files);
  }

  private SortedFiles files(Table table, OutputFileFactory places) {
    return new SortedFiles(table, schema, layout.stored(), places, targetFileSize);
  }

  private OutputFileFactory places(Table table, int part, long attempt) {
    return OutputFileFactory.builderFor(table, part, attempt)
        .format(FileFormat.PARQUET)
        .operationId(operation)
        .build();
  }
}
