package io.keylake.tables.metadata;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.metadata.Description.Line;
import io.keylake.tables.planning.MemoryTables;
import io.keylake.tables.spec.KeyedSchema;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.Table;
import org.junit.jupiter.api.Test;

class DescriptionTest {
  @Test
  void noDataFileIsOpened() {
    Table table = MemoryTables.partitioned().loadTable(MemoryTables.NAME);
    for (String name : List.of("1 is not there", "2 neither")) {
      DataFile file =
          DataFiles.builder(table.spec())
              .copy(MemoryTables.dayFile(table, name))
              .withSortOrder(KeyedSchema.of(table).keyOrder(table))
              .build();
      List<DataFile> files = List.of(file);
      new Commits(table).make(new Append(null, files, WriteSummaries.of("update")));
    }
    Description description =
        new Description(table, KeyedSchema.of(table), table.currentSnapshot().snapshotId());
    String runs =
        description.lines().stream()
            .filter(line -> line.name().equals("Runs"))
            .map(Line::value)
            .findFirst()
            .orElseThrow();
    assertEquals("2 in 2 buckets: 2 files, 2 stored rows, 20 bytes", runs);
  }
}
