package io.keylake.pipelines.messages;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.RandomRuns;
import io.keylake.pipelines.HostileBytes;
import io.keylake.pipelines.encodings.JsonEncoding;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Messages of every format that somebody has changed on purpose: rows, or one sentence. */
@Tag("random")
class HostileMessagesTest {
  private static final int MESSAGES = 3000;
  private static final int LONGEST = 2000;
  private static final Pattern OF_JAVA =
      Pattern.compile("\\bjavax?\\.\\w|com\\.fasterxml|org\\.apache\\.avro|\\n|\\$\\$");

  private record Sample(String format, @Nullable String key, byte[] value) {}

  private static Sample sample(String format, @Nullable String key, String value) {
    return new Sample(
        format.replace('\'', '"'),
        key == null ? null : key.replace('\'', '"'),
        value.replace('\'', '"').getBytes(StandardCharsets.UTF_8));
  }

  private static String connect(String type, String name, String value) {
    String field = "{'field':'v','type':'%s','optional':true,'name':'%s'}".formatted(type, name);
    return ("{'schema':{'type':'struct','fields':[{'field':'id','type':'int64'},%s,"
            + "{'field':'tags','type':'array','items':{'type':'string'}}]},"
            + "'payload':{'id':1,'v':%s,'tags':['a',null]}}")
        .formatted(field, value);
  }

  private static List<Sample> samples() {
    String canal =
        "{'database':'shop','table':'orders','es':1,'pkNames':['id'],'isDdl':false,'mysqlType':"
            + "{'id':'int(11) unsigned','d':'decimal(10,2)','t':'datetime(3)','b':'blob','f':'double',"
            + "'s':\"set('a','b')\",'y':'year','n':'bit(8)'},'type':'%s','data':[{'id':'1','d':'1.50',"
            + "'t':'2020-01-01 00:00:00.5','b':'x','f':'1e3','s':'a','y':'2020','n':'7'}],'old':[{'d':'1'}]}";
    String maxwell =
        "{'database':'shop','table':'orders','ts':1,'data':{'id':2,'n':1,'l':[1,{'a':null}]},'type':'%s','old':{'id':1}}";
    String keyOfMaxwell = "{'database':'shop','table':'orders','pk.id':2}";
    String infers = "{'format':'%s','infers':true}";
    return List.of(
        sample(
            infers.formatted("debezium-json"),
            "{'id':1}",
            MessageReaderTest.debezium("u", "{'id':1,'n':1.5}", "{'id':2,'n':{'a':[1]}}")),
        sample(
            "{'format':'debezium-json','version':['source','lsn']}",
            null,
            MessageReaderTest.debezium("c", "null", "{'id':1,'n':1.50}")),
        sample(infers.formatted("canal-json"), null, canal.formatted("UPDATE")),
        sample(infers.formatted("canal-json"), null, canal.formatted("DELETE")),
        sample(infers.formatted("maxwell-json"), keyOfMaxwell, maxwell.formatted("update")),
        sample("{'format':'maxwell-json'}", keyOfMaxwell, maxwell.formatted("delete")),
        sample(
            "{'format':'json','keys':{'topic':['id']}}", "{'id':1}", "{'id':1,'n':null,'m':1.5}"),
        sample(
            infers.formatted("json"),
            "1",
            connect("bytes", "org.apache.kafka.connect.data.Decimal", "'AZY='")),
        sample(infers.formatted("json"), "1", connect("int32", "io.debezium.time.Date", "18262")),
        sample(
            infers.formatted("json"),
            "1",
            connect("int64", "io.debezium.time.NanoTimestamp", "1000")),
        sample(
            infers.formatted("json"),
            "1",
            connect("string", "io.debezium.time.ZonedTimestamp", "'2020-01-01T02:00:00+02:00'")),
        sample(
            infers.formatted("json"),
            "1",
            connect("int64", "io.debezium.time.MicroTime", "-360000500000")),
        new Sample(MessageReaderTest.avroFormat("schema"), null, MessageReaderTest.avro(-1)),
        new Sample(MessageReaderTest.avroFormat("9"), null, MessageReaderTest.avro(9)));
  }

  @Test
  @Timeout(240)
  void aChangedMessageIsRowsOrOneSentence() {
    RandomRuns.of(
        2,
        random -> {
          List<Sample> samples = samples();
          for (int i = 0; i < MESSAGES; i++) {
            check(samples.get(random.nextInt(samples.size())), random);
          }
        });
  }

  private static void check(Sample sample, Random random) throws Exception {
    byte[] value = HostileBytes.of(sample.value(), random);
    byte[] key = sample.key() == null ? null : sample.key().getBytes(StandardCharsets.UTF_8);
    if (key != null && random.nextInt(3) == 0) {
      key = HostileBytes.of(key, random);
    }
    MessageReader reader = new MessageReader(MessageFormat.fromJson(sample.format()));
    String said = "%s: %s".formatted(sample.format(), text(value));
    try {
      reader.read("topic", 3, 5, null, sample.value()); // readers know shapes of earlier messages
      for (Change change :
          reader.read("topic", 4, 6, key, random.nextInt(20) == 0 ? null : value)) {
        check(change, said);
      }
    } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
      throw new AssertionError(said + ": " + e, e);
    }
  }

  private static void check(Change change, String said) throws Exception {
    if (change.error() != null) {
      assertFalse(OF_JAVA.matcher(change.error()).find(), said + ": " + change.error());
      assertTrue(change.error().length() < LONGEST, said + ": " + change.error());
      return;
    }
    assertNotNull(change.version(), said);
    assertTrue(JsonEncoding.MAPPER.readTree(change.row()).isObject(), said);
    if (change.found() != null) {
      JsonEncoding.MAPPER.readTree(change.found());
    }
  }

  private static String text(byte[] value) {
    String text = new String(value, StandardCharsets.UTF_8);
    return text.indexOf('\ufffd') < 0 ? text : "bytes " + HexFormat.of().formatHex(value);
  }
}
