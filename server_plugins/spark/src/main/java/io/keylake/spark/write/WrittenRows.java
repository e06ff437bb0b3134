package io.keylake.spark.write;

import io.keylake.spark.write.tasks.KeyedDataWriter.Written;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.iceberg.DataFile;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** The rows that the tasks of a write have written. */
record WrittenRows(List<Written> tasks) {
  WrittenRows {
    tasks = List.copyOf(tasks);
  }

  static WrittenRows of(WriterCommitMessage[] messages) {
    return new WrittenRows(
        Arrays.stream(messages)
            .filter(Written.class::isInstance)
            .map(Written.class::cast)
            .toList());
  }

  /** The rows that are held back. */
  WrittenRows held() {
    return new WrittenRows(tasks.stream().map(Written::held).filter(Objects::nonNull).toList());
  }

  long count() {
    return tasks.stream().mapToLong(Written::rows).sum();
  }

  private long lateCount() {
    return tasks.stream().mapToLong(Written::lateRows).sum();
  }

  /** Their files, without those of rows that are held back. */
  List<DataFile> files() {
    return tasks.stream().flatMap(each -> Arrays.stream(each.files())).toList();
  }

  /** All files of the tasks. */
  List<DataFile> all() {
    return tasks.stream().flatMap(each -> each.all().stream()).toList();
  }

  /**
   * The summary of their commit.
   *
   * @param columns that they carry
   */
  WriteSummary summary(String verb, List<String> columns, WriteLabels labels) {
    long rows = count();
    return new WriteSummary(
            verb,
            rows,
            rows == 0 ? null : tasks.stream().mapToLong(Written::minVersion).min().orElseThrow(),
            rows == 0 ? null : tasks.stream().mapToLong(Written::maxVersion).max().orElseThrow(),
            columns,
            labels)
        .late(lateCount());
  }
}
