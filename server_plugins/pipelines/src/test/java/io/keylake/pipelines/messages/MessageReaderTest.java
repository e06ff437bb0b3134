package io.keylake.pipelines.messages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.pipelines.encodings.JsonEncoding;
import io.keylake.tables.KeylakeException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MessageReaderTest {
  static final String SOURCE = "'source':{'db':'shop','table':'orders','ts_ms':1000,'lsn':77}";

  /** Changes as text: {@code op row @version}, or {@code ! reason}. */
  static List<String> read(String format, @Nullable String key, @Nullable String value) {
    return shown(changes(format, bytes(key), bytes(value)));
  }

  private static List<Change> changes(
      String format, byte @Nullable [] key, byte @Nullable [] value) {
    return new MessageReader(MessageFormat.fromJson(format.replace('\'', '"')))
        .read("topic", 3, 5, key, value);
  }

  private static List<String> shown(List<Change> changes) {
    return changes.stream()
        .map(
            each ->
                each.error() == null
                    ? each.op() + " " + text(each.row()) + " @" + each.version()
                    : "! " + each.error())
        .toList();
  }

  private static String text(byte[] row) {
    return new String(row, StandardCharsets.UTF_8).replace('"', '\'');
  }

  private static byte @Nullable [] bytes(@Nullable String text) {
    return text == null ? null : text.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
  }

  static String debezium(String op, String before, String after) {
    return "{'before':%s,'after':%s,'op':'%s',%s}".formatted(before, after, op, SOURCE);
  }

  @Test
  void debezium() {
    String format = "{'format':'debezium-json'}";
    String key = "{'id':1}";
    assertEquals(
        List.of("c {'id':1,'n':1.50} @12288"),
        read(format, key, debezium("c", "null", "{'id':1,'n':1.50}")));
    assertEquals(
        List.of("r {'id':1} @12288"), read(format, key, debezium("r", "null", "{'id':1}")));
    assertEquals(
        List.of("d {'id':1} @12288"), read(format, key, debezium("d", "{'id':1,'n':2}", "null")));
    assertEquals(List.of("d {'id':1} @12288"), read(format, key, debezium("d", "null", "null")));
    assertEquals(
        List.of("d {'id':1} @12288", "c {'id':2} @12289"),
        read(format, key, debezium("u", "{'id':1}", "{'id':2}")));
    assertEquals(List.of(), read(format, key, null));
    Change change = changes(format, bytes(key), bytes(debezium("c", "null", "{'id':1}"))).get(0);
    assertEquals("shop.orders", change.table());
    assertEquals(1_000_000L, change.at());
  }

  @Test
  void versionsOfAField() {
    String format = "{'format':'debezium-json','version':['source','lsn']}";
    assertEquals(
        List.of("c {'id':1} @" + 77 * 4096), read(format, null, debezium("c", "null", "{'id':1}")));
    assertEquals(
        List.of("! it has no whole number at 'source.pos', which is to be its version"),
        read(format.replace("lsn", "pos"), null, debezium("c", "null", "{'id':1}")));
    assertEquals(
        List.of("! its version times 4096 has more than 64 bits"),
        read("{'format':'json','version':['v']}", null, "{'v':9000000000000000000}"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '^',
      textBlock =
          """
          io.debezium.time.Date|int32|18262|'2020-01-01'|date
          io.debezium.time.Timestamp|int64|1577836800123|'2020-01-01T00:00:00.123'|timestamp
          io.debezium.time.MicroTimestamp|int64|-1|'1969-12-31T23:59:59.999999'|timestamp
          io.debezium.time.NanoTimestamp|int64|1000|'1970-01-01T00:00:00.000001'|timestamp
          io.debezium.time.ZonedTimestamp|string|'2020-01-01T02:00:00+02:00'|'2020-01-01T00:00:00Z'|timestamptz
          io.debezium.time.MicroTime|int64|3661000001|'01:01:01.000001'|string
          io.debezium.time.MicroTime|int64|-360000000000|'-100:00:00'|string
          io.debezium.time.MicroTime|int64|-360000500000|'-100:00:00.500000'|string
          io.debezium.time.NanoTime|int64|1|'00:00:00.000000001'|string
          io.debezium.time.NanoTime|int64|-360000000000001|'-100:00:00.000000001'|string
          io.debezium.data.Enum|string|'a'|'a'|string
          io.debezium.data.Uuid|string|'0b0f9c3e-0000-4000-8000-000000000000'|'0b0f9c3e-0000-4000-8000-000000000000'|uuid
          io.debezium.data.VariableScaleDecimal|struct|{'scale':1,'value':'ew=='}|'12.3'|string
          io.debezium.data.geometry.Point|struct|{'x':1.0,'y':2.0,'wkb':'AQE=','srid':null}|'AQE='|binary
          x|bytes|'AQI='|'AQI='|binary
          x|int16|7|7|int
          x|int64|7|7|long
          x|float|7.5|7.5|float
          x|double|7.5|7.5|double
          """)
  void typesOfKafkaConnect(String name, String type, String value, String shown, String iceberg) {
    String schema = "{'type':'%s','name':'%s','field':'c'}".formatted(type, name);
    assertColumn(schema, value, shown, iceberg);
  }

  /** Columns of time hold microseconds, and values are never changed to fit. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '^',
      textBlock =
          """
          io.debezium.time.NanoTimestamp|int64|1577836800000000001
          io.debezium.time.NanoTimestamp|int64|-1
          io.debezium.time.ZonedTimestamp|string|'2020-01-01T02:00:00.1234567+02:00'
          """)
  void timesFinerThanMicroseconds(String name, String type, String value) {
    String schema = "{'type':'%s','name':'%s','field':'c'}".formatted(type, name);
    String reason = " has digits beyond microseconds, which no column of time holds";
    List<String> read = read(INFERS, null, changed(schema, value));
    assertTrue(read.size() == 1 && read.get(0).endsWith(reason), read.toString());
  }

  @Test
  void decimalsAndListsOfKafkaConnect() {
    String decimal =
        "{'type':'bytes','name':'org.apache.kafka.connect.data.Decimal','field':'c','parameters':{'scale':'2','connect.decimal.precision':'10'}}";
    String value =
        Base64.getEncoder().encodeToString(new BigDecimal("-12.30").unscaledValue().toByteArray());
    assertColumn(decimal, "'" + value + "'", "'-12.30'", "decimal(10, 2)");
    String dates =
        "{'type':'array','field':'c','items':{'type':'int32','name':'io.debezium.time.Date'}}";
    String list = changed(dates, "[0,null]");
    assertEquals(List.of("u {'c':['1970-01-01',null]} @12288"), read(INFERS, null, list));
    assertTrue(found(list).contains("'element':'date'"), found(list));
  }

  static final String INFERS = "{'format':'json','infers':true}";

  private static void assertColumn(String schema, String value, String shown, String iceberg) {
    String message = changed(schema, value);
    assertEquals(List.of("u {'c':" + shown + "} @12288"), read(INFERS, null, message));
    assertEquals("{'key':[],'columns':{'c':['" + iceberg + "']}}", found(message));
  }

  private static String changed(String schema, String value) {
    return "{'schema':{'type':'struct','fields':[%s]},'payload':{'c':%s}}".formatted(schema, value);
  }

  private static String found(String message) {
    return String.valueOf(changes(INFERS, null, bytes(message)).get(0).found()).replace('"', '\'');
  }

  @Test
  void aRowTellsOfColumnsWhatNoneBeforeHasTold() {
    MessageReader reader =
        new MessageReader(
            MessageFormat.fromJson(
                "{\"format\":\"json\",\"infers\":true,\"keys\":{\"*\":[\"id\"]}}"));
    List<@Nullable String> found =
        List.of(
                "{'id':1,'n':null}",
                "{'id':2,'n':5}",
                "{'id':3,'n':6}",
                "{'id':3,'n':1e400,'s':[1]}",
                "{'id':12345678901234567890}")
            .stream()
            .map(each -> reader.read("t", 0, 0, null, bytes(each)).get(0).found())
            .toList();
    assertEquals("{\"key\":[\"id\"],\"columns\":{\"id\":[\"long\"]}}", found.get(0));
    assertEquals("{\"key\":[\"id\"],\"columns\":{\"n\":[\"long\"]}}", found.get(1));
    assertNull(found.get(2));
    assertEquals(
        "{\"key\":[\"id\"],\"columns\":{\"n\":[\"double\"],\"s\":[\"string\"]}}", found.get(3));
    assertEquals("{\"key\":[\"id\"],\"columns\":{\"id\":[\"decimal(38, 0)\"]}}", found.get(4));
  }

  @Test
  void canal() {
    String format = "{'format':'canal-json'}";
    String types =
        "'mysqlType':{'id':'int(11) unsigned','d':'decimal(10,2)','t':'datetime(3)','b':'blob'}";
    String head =
        "{'database':'shop','table':'orders','es':1,'pkNames':['id'],'isDdl':false," + types;
    assertEquals(
        List.of(
            "c {'id':1,'d':'1.50','t':'2020-01-01T00:00:00.5','b':'/w=='} @12288",
            "c {'id':2,'d':null,'t':null} @12289"),
        read(
            format,
            null,
            head
                + ",'type':'INSERT','data':[{'id':'1','d':'1.50','t':'2020-01-01 00:00:00.5','b':'\u00ff'},"
                + "{'id':'2','d':null,'t':'0000-00-00 00:00:00'}]}"));
    assertEquals(
        List.of("u {'id':1,'d':'2'} @12288", "d {'id':3} @12289", "c {'id':4,'d':'2'} @12290"),
        read(
            format,
            null,
            head
                + ",'type':'UPDATE','data':[{'id':'1','d':'2'},{'id':'4','d':'2'}],'old':[{'d':'1'},{'id':'3'}]}"));
    assertEquals(
        List.of("d {'id':1} @12288"),
        read(format, null, head + ",'type':'DELETE','data':[{'id':'1','d':'2'}]}"));
    String ddl = "{'type':'%s','isDdl':true,'sql':'%s'}";
    assertEquals(
        List.of(), read(format, null, ddl.formatted("ALTER", "ALTER TABLE a ADD COLUMN b INT")));
    assertTrue(
        read(format, null, ddl.formatted("TRUNCATE", "TRUNCATE a"))
            .get(0)
            .startsWith("! the source"));
  }

  @Test
  void maxwell() {
    String format = "{'format':'maxwell-json'}";
    String head = "{'database':'shop','table':'orders','ts':1,'data':{'id':2,'n':1},";
    String key = "{'database':'shop','table':'orders','pk.id':2}";
    assertEquals(List.of("c {'id':2,'n':1} @12288"), read(format, key, head + "'type':'insert'}"));
    assertEquals(
        List.of("r {'id':2,'n':1} @12288"), read(format, key, head + "'type':'bootstrap-insert'}"));
    assertEquals(
        List.of("u {'id':2,'n':1} @12288"),
        read(format, key, head + "'type':'update','old':{'n':0}}"));
    assertEquals(
        List.of("d {'id':1} @12288", "c {'id':2,'n':1} @12289"),
        read(format, key, head + "'type':'update','old':{'id':1}}"));
    assertEquals(List.of("d {'id':2} @12288"), read(format, key, head + "'type':'delete'}"));
    assertEquals(List.of(), read(format, key, head + "'type':'table-alter'}"));
  }

  @Test
  void plainJson() {
    String format = "{'format':'json','keys':{'topic':['id']}}";
    assertEquals(List.of("u {'id':1,'n':null} @12288"), read(format, null, "{'id':1,'n':null}"));
    assertEquals(List.of("d {'id':1} @12288"), read(format, "{'id':1}", null));
    assertEquals(List.of("d {'id':1} @12288"), read(format, "1", null));
    assertEquals(List.of("d {'id':'user-1'} @12288"), read(format, "user-1", null));
    assertTrue(read(format, "{'other':1}", null).get(0).startsWith("! it has no value"));
    assertTrue(read(format, null, null).get(0).startsWith("! it has neither"));
  }

  @ParameterizedTest
  @CsvSource({"debezium-json", "canal-json", "maxwell-json", "json"})
  void messagesThatCannotBeRead(String name) {
    String format = "{'format':'" + name + "'}";
    for (String text : List.of("", "{nope", "[1]", "7", "{} x", "null")) {
      List<String> read = read(format, null, text);
      assertEquals(1, read.size(), text);
      assertTrue(read.get(0).startsWith("! it "), text + ": " + read);
    }
    byte[] binary = {(byte) 0xff, 0, 1};
    Change change = changes(format, null, binary).get(0);
    assertEquals("/wAB", text(change.row()));
  }

  private static final String AVRO =
      """
      {"type": "record", "name": "T", "fields": [
        {"name": "id", "type": "long"},
        {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "day", "type": {"type": "int", "connect.name": "io.debezium.time.Date"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}}]}""";

  static byte[] avro(int number) {
    Schema schema = new Schema.Parser().parse(AVRO);
    GenericData.Record row = new GenericData.Record(schema);
    row.put("id", 7L);
    row.put("price", ByteBuffer.wrap(new BigDecimal("1.50").unscaledValue().toByteArray()));
    row.put("at", 1L);
    row.put("day", 1);
    row.put("tags", List.of("a"));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try {
      if (number >= 0) {
        out.write(ByteBuffer.allocate(5).put((byte) 0).putInt(number).array());
      }
      BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
      new GenericDatumWriter<GenericData.Record>(schema).write(row, encoder);
      encoder.flush();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    return out.toByteArray();
  }

  static String avroFormat(String member) {
    return JsonEncoding.MAPPER
        .createObjectNode()
        .put("format", "avro")
        .put("infers", true)
        .setAll(
            member.equals("schema")
                ? JsonEncoding.MAPPER.createObjectNode().put("schema", AVRO)
                : JsonEncoding.MAPPER
                    .createObjectNode()
                    .set("schemas", JsonEncoding.MAPPER.createObjectNode().put(member, AVRO)))
        .toString();
  }

  private static List<Change> avroChanges(String format, byte[] value) {
    return new MessageReader(MessageFormat.fromJson(format)).read("topic", 3, 5, null, value);
  }

  @Test
  void avro() {
    String expected =
        "u {'id':7,'price':'1.50','at':'1970-01-01T00:00:00.000001Z','day':'1970-01-02','tags':['a']} @12288";
    List<Change> changes = avroChanges(avroFormat("schema"), avro(-1));
    assertEquals(List.of(expected), shown(changes));
    String found = String.valueOf(changes.get(0).found());
    assertTrue(found.contains("\"price\":[\"decimal(10, 2)\"]"), found);
    assertTrue(found.contains("\"at\":[\"timestamptz\"]"), found);
    assertEquals(List.of(expected), shown(avroChanges(avroFormat("9"), avro(9))));
    assertEquals(
        List.of("! the schema 8 of Avro is not among those that are given, [9]"),
        shown(avroChanges(avroFormat("9"), avro(8))));
    assertTrue(
        shown(avroChanges(avroFormat("schema"), new byte[] {1, 2}))
            .get(0)
            .startsWith("! its bytes"));
    assertTrue(
        shown(avroChanges(avroFormat("9"), new byte[] {1, 2}))
            .get(0)
            .startsWith("! it does not begin"));
  }

  @Test
  void formatsThatCannotBe() {
    for (String format :
        List.of(
            "{'format':'csv'}", "{'format':'avro'}", "{'format':'avro','schema':'{}'}", "[", "1")) {
      assertThrows(
          KeylakeException.class, () -> MessageFormat.fromJson(format.replace('\'', '"')), format);
    }
  }
}
