import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.encryption.EncryptedFiles;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.encryption.EncryptionKeyMetadata;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import java.util.Set;

/**
 * Writes a table as an upsert sink leaves it, with Iceberg's own writers: in each commit, data files and files of
 * equality deletes of all partitions. A partition with a higher number has more deletes. Most deletes are of keys that
 * no row has, as where rows were compacted away.
 *
 * <p>Arguments: catalog, warehouse, table, rows of data, rows of deletes, commits.
 */
final class UpsertedTable {
  private static final int PARTITIONS = 6;
  private static final int SHARES = PARTITIONS * (PARTITIONS + 1) / 2;
  private static final Schema SCHEMA =
      new Schema(
          List.of(
              Types.NestedField.required(1, "id", Types.LongType.get()),
              Types.NestedField.required(2, "part", Types.IntegerType.get()),
              Types.NestedField.optional(3, "clicks", Types.LongType.get()),
              Types.NestedField.optional(4, "score", Types.DoubleType.get()),
              Types.NestedField.optional(5, "page", Types.StringType.get()),
              Types.NestedField.optional(6, "amount", Types.LongType.get()),
              Types.NestedField.optional(7, "level", Types.IntegerType.get()),
              Types.NestedField.optional(8, "ratio", Types.DoubleType.get())),
          Set.of(1, 2));

  private final Table table;
  private final GenericFileWriterFactory.Builder writers;
  private final long rows;
  private final long deletes;
  private final int commits;

  private UpsertedTable(Table table, long rows, long deletes, int commits) {
    this.table = table;
    this.rows = rows;
    this.deletes = deletes;
    this.commits = commits;
    writers =
        new GenericFileWriterFactory.Builder(table)
            .dataFileFormat(FileFormat.PARQUET)
            .deleteFileFormat(FileFormat.PARQUET)
            .dataSchema(table.schema());
  }

  public static void main(String[] arguments) throws Exception {
    JdbcCatalog catalog = new JdbcCatalog();
    catalog.setConf(new Configuration());
    catalog.initialize(
        arguments[0],
        Map.of(
            "uri", "jdbc:sqlite:" + arguments[1] + "/catalog.db",
            "warehouse", arguments[1],
            "jdbc.schema-version", "V1"));
    TableIdentifier name = TableIdentifier.parse(arguments[2]);
    Namespace namespace = name.namespace();
    if (!catalog.namespaceExists(namespace)) {
      catalog.createNamespace(namespace);
    }
    Table table =
        catalog.createTable(
            name,
            SCHEMA,
            PartitionSpec.builderFor(SCHEMA).identity("part").build(),
            Map.of("format-version", "3", "write.delete.mode", "merge-on-read"));
    new UpsertedTable(
            table,
            Long.parseLong(arguments[3]),
            Long.parseLong(arguments[4]),
            Integer.parseInt(arguments[5]))
        .write();
  }

  private void write() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      for (int commit = 0; commit < commits; commit++) {
        int number = commit;
        List<Future<DataFile>> data = new ArrayList<>();
        List<Future<DeleteFile>> removed = new ArrayList<>();
        for (int each = 0; each < PARTITIONS; each++) {
          int part = each;
          data.add(threads.submit(() -> data(number, part)));
          removed.add(threads.submit(() -> deletes(number, part)));
        }
        RowDelta delta = table.newRowDelta();
        for (Future<DataFile> file : data) {
          delta.addRows(file.get());
        }
        for (Future<DeleteFile> file : removed) {
          delta.addDeletes(file.get());
        }
        delta.commit();
        table.refresh();
      }
    } finally {
      threads.shutdown();
    }
  }

  /** Keys of a partition are its number modulo the number of partitions; of each, one row is written. */
  private DataFile data(int commit, int part) throws IOException {
    DataWriter<org.apache.iceberg.data.Record> writer =
        writers.build().newDataWriter(output(), table.spec(), partition(part));
    try (writer) {
      GenericRecord record = GenericRecord.create(SCHEMA);
      long each = rows / PARTITIONS / commits;
      for (long i = 0; i < each; i++) {
        long id = (commit * each + i) * PARTITIONS + part;
        long noise = mixed(id);
        record.setField("id", id);
        record.setField("part", part);
        record.setField("clicks", noise >>> 40);
        record.setField("score", (noise & 0xFFFFF) / 1024.0);
        record.setField("page", "page/" + (noise >>> 48));
        record.setField("amount", noise);
        record.setField("level", (int) (noise & 7));
        record.setField("ratio", noise / 1e9);
        writer.write(record);
      }
    }
    return writer.toDataFile();
  }

  /** Drawn from ten times as many keys as there are rows or deletes; in no order, as a stream has them. */
  private DeleteFile deletes(int commit, int part) throws IOException {
    Schema key = TypeUtil.select(SCHEMA, Set.of(1));
    EqualityDeleteWriter<org.apache.iceberg.data.Record> writer =
        new GenericFileWriterFactory.Builder(table)
            .deleteFileFormat(FileFormat.PARQUET)
            .equalityDeleteRowSchema(key)
            .equalityFieldIds(new int[] {1})
            .build()
            .newEqualityDeleteWriter(output(), table.spec(), partition(part));
    try (writer) {
      GenericRecord record = GenericRecord.create(key);
      long each = deletes * (part + 1) / SHARES / commits;
      long keys = Math.max(10 * deletes, 10 * rows) / PARTITIONS;
      for (long i = 0; i < each; i++) {
        long drawn = Long.remainderUnsigned(mixed((commit * each + i) * PARTITIONS + part + 7L), keys);
        record.setField("id", drawn * PARTITIONS + part);
        writer.write(record);
      }
    }
    return writer.toDeleteFile();
  }

  /** Evenly spread bits (SplitMix64). */
  private static long mixed(long number) {
    long z = number * 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  private PartitionKey partition(int part) {
    PartitionKey partition = new PartitionKey(table.spec(), SCHEMA);
    GenericRecord record = GenericRecord.create(SCHEMA);
    record.setField("part", part);
    partition.partition(record);
    return partition;
  }

  private EncryptedOutputFile output() {
    String name = table.location() + "/data/" + UUID.randomUUID() + ".parquet";
    return EncryptedFiles.encryptedOutput(table.io().newOutputFile(name), EncryptionKeyMetadata.empty());
  }
}
