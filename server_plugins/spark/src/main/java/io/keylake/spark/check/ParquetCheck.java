package io.keylake.spark.check;

import io.keylake.spark.engine.Portion;
import io.keylake.spark.integrity.CheckedFooter;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.ReadCounters;
import io.keylake.tables.FileDamage;
import io.keylake.tables.check.FileKind;
import io.keylake.tables.check.Finding;
import io.keylake.tables.check.Finding.Kind;
import io.keylake.tables.check.NeededFile;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.page.DataPage;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.column.page.PageReader;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.Type;

/**
 * The check of a Parquet file that has the right size:
 *
 * <ol>
 *   <li>The footer can be read and fits its checksum, and so do the indexes of pages.
 *   <li>It has as many rows as the manifest says, the columns of the key, and its own name; a file
 *       of positions speaks of one data file.
 *   <li>At the level of pages: each page of each column, read one column of a row group at a time,
 *       then the keys ({@link KeyCheck}) of files that keylake has written.
 * </ol>
 */
final class ParquetCheck {
  private static final int MOST_FINDINGS = 100; // of one file

  private final FileIO io;
  private final NeededFile file;
  private final KeyedSchema schema;
  private final int buckets;
  private final Level level;
  private final List<Finding> findings = new ArrayList<>();

  /**
   * @param buckets of the file's partition spec; 0 where that is none of keylake
   */
  ParquetCheck(FileIO io, NeededFile file, KeyedSchema schema, int buckets, Level level) {
    this.io = io;
    this.file = file;
    this.schema = schema;
    this.buckets = buckets;
    this.level = level;
  }

  /**
   * @param keys field ids of the keys that the table has had
   */
  List<Finding> findings(List<Set<Integer>> keys) {
    DataFiles files = new DataFiles(io, new ReadCounters());
    StoredFile stored = new StoredFile(file.location(), file.bytes(), file.rows(), List.of());
    try {
      DataFiles.Opened opened = files.openAnew(stored);
      try (ParquetFileReader pages = opened.pages(null)) {
        boolean isAsSaid = file.kind() == FileKind.STATISTICS || checkFooter(opened.footer(), keys);
        if (level == Level.PAGES && isAsSaid) {
          checkPages(pages, opened.footer());
        }
      }
      boolean isSorted =
          file.kind() == FileKind.DATA && file.isOfKeylake() && hasKey(opened.footer());
      if (level == Level.PAGES && isSorted && findings.isEmpty()) {
        new KeyCheck(file, schema, buckets).check(files, stored).ifPresent(findings::add);
      }
    } catch (IOException | RuntimeException e) {
      findings.add(Finding.unread(io, Kind.FOOTER, file.location(), e));
    }
    return findings;
  }

  private boolean add(Kind kind, String detail) {
    findings.add(Finding.of(kind, file.location(), detail));
    return false;
  }

  private boolean checkFooter(ParquetMetadata footer, List<Set<Integer>> keys) {
    try {
      CheckedFooter.checkName(footer.getFileMetaData(), file.location());
    } catch (FileDamage e) {
      return add(Kind.OTHER_FILE, String.valueOf(e.getMessage()));
    }
    long rows = footer.getBlocks().stream().mapToLong(BlockMetaData::getRowCount).sum();
    if (rows != file.rows()) {
      return add(
          Kind.COUNTS, "its footer has %d rows, its manifest %d".formatted(rows, file.rows()));
    }
    try {
      CheckedFooter.check(footer, file.rows(), file.bytes());
      CheckedFooter.checkColumns(footer.getFileMetaData());
    } catch (FileDamage e) {
      return add(Kind.FOOTER, String.valueOf(e.getMessage()));
    }
    if (file.kind() == FileKind.DELETES) {
      return checkPositions(footer);
    }
    return !file.isOfKeylake() || checkColumns(footer, keys);
  }

  private boolean checkColumns(ParquetMetadata footer, List<Set<Integer>> keys) {
    Set<Integer> stored = stored(footer);
    return keys.stream().anyMatch(stored::containsAll)
        || add(
            Kind.COLUMNS,
            "it does not have the key columns %s"
                .formatted(
                    schema.sortKey().stream()
                        .map(NestedField::name)
                        .collect(Collectors.joining(", "))));
  }

  /** The file has the key of the table as it is now. */
  private boolean hasKey(ParquetMetadata footer) {
    Set<Integer> stored = stored(footer);
    return schema.sortKey().stream().allMatch(field -> stored.contains(field.fieldId()));
  }

  private static Set<Integer> stored(ParquetMetadata footer) {
    Set<Integer> stored = new HashSet<>();
    collect(footer.getFileMetaData().getSchema(), stored);
    return stored;
  }

  private static void collect(GroupType group, Set<Integer> into) {
    for (Type field : group.getFields()) {
      if (field.getId() != null) {
        into.add(field.getId().intValue());
      }
      if (!field.isPrimitive()) {
        collect(field.asGroupType(), into);
      }
    }
  }

  private boolean checkPositions(ParquetMetadata footer) {
    String dataFile = file.referenced();
    try {
      if (dataFile != null) {
        CheckedFooter.checkPositions(footer, dataFile);
      }
    } catch (FileDamage e) {
      return add(Kind.OTHER_FILE, String.valueOf(e.getMessage()));
    }
    return true;
  }

  private void checkPages(ParquetFileReader pages, ParquetMetadata footer) {
    MessageType all = footer.getFileMetaData().getSchema();
    for (int group = 0; group < footer.getBlocks().size(); group++) {
      for (ColumnDescriptor column : all.getColumns()) {
        if (findings.size() < MOST_FINDINGS) {
          checkPages(pages, all, group, column);
        }
      }
    }
  }

  private void checkPages(
      ParquetFileReader pages, MessageType all, int group, ColumnDescriptor column) {
    String[] path = column.getPath();
    MessageType only = new MessageType(all.getName(), only(all.getType(path[0]), path, 1));
    int page = -1;
    try {
      pages.setRequestedSchema(only);
      try (PageReadStore read = Portion.all(pages, group).pages(only)) {
        PageReader reader = read.getPageReader(column);
        reader.readDictionaryPage();
        page = 0;
        for (DataPage each = reader.readPage(); each != null; each = reader.readPage()) {
          page++;
        }
      }
    } catch (IOException | RuntimeException e) {
      String name = String.join(".", path);
      Finding found = Finding.unread(io, Kind.UNREADABLE, file.location(), e);
      findings.add(
          new Finding(
              found.kind(),
              file.location(),
              name,
              group,
              page < 0 ? null : Integer.valueOf(page),
              found.detail()));
    }
  }

  /** A column with the structs, lists and maps around it. */
  private static Type only(Type type, String[] path, int depth) {
    return depth == path.length
        ? type
        : type.asGroupType()
            .withNewFields(only(type.asGroupType().getType(path[depth]), path, depth + 1));
  }
}
