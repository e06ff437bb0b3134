package io.keylake.spark.explain;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.spark.keys.ColumnTypes;
import io.keylake.spark.keys.LookupKey;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.FileFilter;
import io.keylake.spark.read.indexes.IndexProbes;
import io.keylake.spark.read.merge.KeyVersions;
import io.keylake.spark.read.merge.StoredVersion;
import io.keylake.spark.read.scan.PushedFilters;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.spark.table.KeyedTable;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.metadata.FileOrigins;
import io.keylake.tables.metadata.FilesBeforeMerges;
import io.keylake.tables.planning.PlannedSection;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.planning.request.ReadScope;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.DataType;

/**
 * The stored rows of one key in the files of a snapshot, and its merged row. Only the files of its
 * bucket are opened whose range of keys holds it, as by a read of that key. Rows that a compaction
 * has merged or superseded are there as they were written, while the snapshots before it are kept.
 *
 * @param task the columns of the stored and the merged rows
 * @param origins of the files, by their locations
 */
record RowHistory(ReadTask task, KeyVersions versions, Map<String, FileOrigins.Origin> origins) {

  static RowHistory of(KeyedTable table, LookupKey key) {
    try {
      return new Reading(table, key).history();
    } catch (IOException e) {
      throw StoreFailure.reading(table.name(), e);
    }
  }

  /** One look at the files of a key. */
  private static final class Reading {
    private final Table table;
    private final KeyedSchema schema;
    private final LookupKey key;
    private final ReadTask task;
    private final ReadPlanner planner;
    private final boolean isWithExperiments;

    Reading(KeyedTable table, LookupKey key) {
      this.table = table.table();
      this.schema = table.keyed();
      this.key = key;
      PushedFilters filters = KeyValues.filters(schema, key);
      List<OutputColumn> output = new ArrayList<>();
      for (NestedField column : schema.visible().columns()) {
        DataType type = ColumnTypes.spark(column);
        output.add(OutputColumn.of(schema, column, type));
      }
      FileFilter filter = FileFilter.of(filters.keyFilters(), schema.sortKey());
      this.task =
          new ReadTask(
              schema,
              output,
              new ReadTask.Filters(filter, filter, IndexProbes.NONE, List.of()),
              true,
              DataFiles.BATCH_ROWS);
      this.planner = planner(table, filters);
      this.isWithExperiments = !table.scope().overlays().isEmpty();
    }

    private ReadPlanner planner(KeyedTable of, PushedFilters filters) {
      ReadScope scope = of.scope();
      ReadSpec readSpec =
          ReadSpec.ofAllColumns(schema, scope.snapshotId(), Wanted.HISTORY)
              .in(scope)
              .where(filters.fileFilter(schema, scope.buckets(table)));
      return new ReadPlanner(table, schema, readSpec);
    }

    RowHistory history() throws IOException {
      for (List<FileScanTask> files : planner.files().values()) {
        KeyVersions found = versions(planner.sections(files));
        if (!found.rows().isEmpty()) {
          return isWithExperiments
              ? new RowHistory(task, found, origins(found, files))
              : asWritten(found, files);
        }
      }
      return new RowHistory(task, KeyVersions.NONE, Map.of());
    }

    /** A compaction that forgets rows by the policy of the table cannot be taken back for them. */
    private RowHistory asWritten(KeyVersions found, List<FileScanTask> files) throws IOException {
      List<FileScanTask> before = new FilesBeforeMerges(table, planner.listing()).of(files);
      KeyVersions all = versions(planner.sectionsOfAllRows(before));
      return Objects.equals(all.merged(), found.merged())
          ? new RowHistory(task, all, origins(all, before))
          : new RowHistory(task, found, origins(found, files));
    }

    private KeyVersions versions(List<PlannedSection> sections) throws IOException {
      for (PlannedSection section : sections) {
        KeyVersions found = KeyVersions.find(table.io(), task, section.plan(), key);
        if (!found.rows().isEmpty()) {
          return found;
        }
      }
      return KeyVersions.NONE;
    }

    private Map<String, FileOrigins.Origin> origins(KeyVersions found, List<FileScanTask> files) {
      Set<String> locations =
          found.rows().stream().map(StoredVersion::location).collect(Collectors.toSet());
      FileOrigins origins = new FileOrigins(table, planner.listing());
      return files.stream()
          .map(FileScanTask::file)
          .filter(file -> locations.contains(file.location()))
          .collect(Collectors.toMap(DataFile::location, origins::of));
    }
  }
}
