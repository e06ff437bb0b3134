package io.keylake.plaindeletes.index;

import io.keylake.tables.storage.MemoryBudget;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.encryption.EncryptedFiles;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.encryption.EncryptionKeyMetadata;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.types.TypeUtil;
import org.jspecify.annotations.Nullable;

/** A table in memory with real manifests and real Avro files, written by Iceberg's own writers. */
public final class DeletesTable {
  /** For indexes that have all the memory that they want. */
  public static final MemoryBudget UNLIMITED =
      new MemoryBudget() {
        @Override
        public boolean take(long bytes) {
          return true;
        }

        @Override
        public void give(long bytes) {}
      };

  public final Table table;
  private int files;

  public DeletesTable(Schema schema, PartitionSpec spec, int formatVersion) {
    InMemoryCatalog catalog = new InMemoryCatalog();
    catalog.initialize("memory", Map.of());
    catalog.createNamespace(Namespace.of("n"));
    table =
        catalog
            .buildTable(TableIdentifier.of("n", "t-" + UUID.randomUUID()), schema)
            .withPartitionSpec(spec)
            .withProperty("format-version", String.valueOf(formatVersion))
            .withProperty("write.format.default", "avro")
            .create();
  }

  private EncryptedOutputFile newFile() {
    return EncryptedFiles.encryptedOutput(
        table.io().newOutputFile(table.location() + "/" + files++ + ".avro"),
        EncryptionKeyMetadata.empty());
  }

  private GenericFileWriterFactory.Builder writers() {
    return new GenericFileWriterFactory.Builder(table)
        .dataFileFormat(FileFormat.AVRO)
        .deleteFileFormat(FileFormat.AVRO);
  }

  private @Nullable PartitionKey partition(PartitionSpec spec, Record row) {
    if (spec.isUnpartitioned()) {
      return null;
    }
    PartitionKey key = new PartitionKey(spec, table.schema());
    key.partition(new InternalRecordWrapper(table.schema().asStruct()).wrap(row));
    return key;
  }

  /** Data files of these rows, all of the partition of the first. */
  public DataFile data(List<Record> rows) throws IOException {
    PartitionSpec spec = table.spec();
    DataWriter<Record> writer =
        writers()
            .dataSchema(table.schema())
            .build()
            .newDataWriter(newFile(), spec, partition(spec, rows.get(0)));
    try (writer) {
      rows.forEach(writer::write);
    }
    return writer.toDataFile();
  }

  /** A file that deletes rows like these in its fields, in the partition of the first. */
  public DeleteFile deletes(PartitionSpec spec, List<Record> rows, Integer... fields)
      throws IOException {
    Schema schema = TypeUtil.select(table.schema(), Set.of(fields));
    EqualityDeleteWriter<Record> writer =
        writers()
            .equalityDeleteRowSchema(schema)
            .equalityFieldIds(Arrays.stream(fields).mapToInt(i -> i).toArray())
            .build()
            .newEqualityDeleteWriter(newFile(), spec, partition(spec, rows.get(0)));
    try (writer) {
      for (Record row : rows) {
        Record key = GenericRecord.create(schema);
        schema
            .columns()
            .forEach(column -> key.setField(column.name(), row.getField(column.name())));
        writer.write(key);
      }
    }
    return writer.toDeleteFile();
  }

  EqualityDeletes planned() throws IOException {
    List<FileScanTask> tasks = new ArrayList<>();
    try (CloseableIterable<FileScanTask> planned = table.newScan().planFiles()) {
      planned.forEach(tasks::add);
    }
    return EqualityDeletes.of(tasks, table.schema(), table.specs());
  }
}
