import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.IdentityPartitionConverters;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.encryption.EncryptedFiles;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.encryption.EncryptionKeyMetadata;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.SingleValueParser;

/**
 * Another engine's writer, as Flink's upsert sink: it commits data files and equality deletes as Iceberg's own writers
 * make them. A line of input is a commit in JSON, a line of output its snapshot.
 *
 * <p>{"table": "db.t", "files": [{"deletes": ["id"], "format": "avro", "rows": [{"id": 1}]}]}; without "deletes" it is a
 * file of data. All rows of a file are of the partition of its first one.
 */
final class ForeignWriter {
  public static void main(String[] arguments) throws IOException {
    JdbcCatalog catalog = new JdbcCatalog();
    catalog.setConf(new Configuration());
    catalog.initialize(
        arguments[0],
        Map.of("uri", "jdbc:sqlite:" + arguments[1] + "/catalog.db", "warehouse", arguments[1], "jdbc.schema-version", "V1"));
    ObjectMapper json = new ObjectMapper();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      JsonNode commit = json.readTree(line);
      Table table = catalog.loadTable(TableIdentifier.parse(commit.get("table").asText()));
      RowDelta delta = table.newRowDelta();
      for (JsonNode file : commit.get("files")) {
        add(delta, table, file);
      }
      delta.commit();
      table.refresh();
      System.out.println(table.currentSnapshot().snapshotId());
      System.out.flush();
    }
  }

  private static void add(RowDelta delta, Table table, JsonNode file) throws IOException {
    FileFormat format = FileFormat.fromString(file.path("format").asText("parquet"));
    PartitionSpec spec = file.path("global").asBoolean() ? table.specs().get(0) : table.spec();
    List<Record> rows = new ArrayList<>();
    for (JsonNode row : file.get("rows")) {
      rows.add(record(table.schema(), row));
    }
    PartitionKey partition = null;
    if (spec.isPartitioned()) {
      partition = new PartitionKey(spec, table.schema());
      partition.partition(new InternalRecordWrapper(table.schema().asStruct()).wrap(rows.get(0)));
    }
    String name = table.location() + "/data/" + UUID.randomUUID() + "." + format.name().toLowerCase();
    EncryptedOutputFile output =
        EncryptedFiles.encryptedOutput(table.io().newOutputFile(name), EncryptionKeyMetadata.empty());
    GenericFileWriterFactory.Builder writers =
        new GenericFileWriterFactory.Builder(table).dataFileFormat(format).deleteFileFormat(format);
    if (!file.has("deletes")) {
      DataWriter<Record> writer = writers.dataSchema(table.schema()).build().newDataWriter(output, spec, partition);
      try (writer) {
        rows.forEach(writer::write);
      }
      delta.addRows(writer.toDataFile());
      return;
    }
    Set<Integer> ids = new TreeSet<>();
    file.get("deletes").forEach(field -> ids.add(table.schema().findField(field.asText()).fieldId()));
    Schema schema = TypeUtil.select(table.schema(), ids);
    EqualityDeleteWriter<Record> writer =
        writers
            .equalityDeleteRowSchema(schema)
            .equalityFieldIds(ids.stream().mapToInt(id -> id).toArray())
            .build()
            .newEqualityDeleteWriter(output, spec, partition);
    try (writer) {
      for (Record row : rows) {
        GenericRecord key = GenericRecord.create(schema);
        schema.columns().forEach(column -> key.setField(column.name(), row.getField(column.name())));
        writer.write(key);
      }
    }
    delta.addDeletes(writer.toDeleteFile());
  }

  private static Record record(Schema schema, JsonNode row) {
    GenericRecord record = GenericRecord.create(schema);
    for (NestedField field : schema.columns()) {
      JsonNode value = row.get(field.name());
      if (value != null && !value.isNull()) {
        Object internal = SingleValueParser.fromJson(field.type(), value.toString());
        record.setField(field.name(), IdentityPartitionConverters.convertConstant(field.type(), internal));
      }
    }
    return record;
  }
}
