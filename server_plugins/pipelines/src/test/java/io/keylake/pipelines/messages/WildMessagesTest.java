package io.keylake.pipelines.messages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Messages as they were met: each is rows as it says, or one change with a sentence. */
class WildMessagesTest {
  private static final String PLAIN = "{'format':'json','keys':{'*':['id']}}";

  private static List<Change> changes(
      String format, byte @Nullable [] key, @Nullable String value) {
    byte[] bytes = value == null ? null : value.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
    return new MessageReader(MessageFormat.fromJson(format.replace('\'', '"')))
        .read("topic", 3, 5, key, bytes);
  }

  private static String row(Change change) {
    return new String(change.row(), StandardCharsets.UTF_8).replace('"', '\'');
  }

  private static void assertRefused(String reason, List<Change> changes) {
    assertEquals(1, changes.size());
    String error = String.valueOf(changes.get(0).error());
    assertTrue(error.contains(reason), error);
  }

  /**
   * A key that is no JSON is a text, also where it looks like a number that is written otherwise.
   */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '^',
      textBlock =
          """
          49|49
          -7|-7
          1.50|1.50
          7e12|'7e12'
          1e400|'1e400'
          -0|'-0'
          007|'007'
          abc|'abc'
          """)
  void tombstonesOfPlainKeys(String key, String shown) {
    List<Change> changes = changes(PLAIN, key.getBytes(StandardCharsets.UTF_8), null);
    assertEquals("d", changes.get(0).op());
    assertEquals("{'id':" + shown + "}", row(changes.get(0)));
  }

  @Test
  void columnsThatOnlyTheKeyOfAMessageHas() {
    byte[] key = "{\"id\":7,\"x\":1}".getBytes(StandardCharsets.UTF_8);
    assertEquals("{'v':1,'id':7}", row(changes(PLAIN, key, "{'v':1}").get(0)));
    assertEquals("{'id':8,'v':1}", row(changes(PLAIN, key, "{'id':8,'v':1}").get(0)));
    byte[] plain = "7".getBytes(StandardCharsets.UTF_8);
    assertEquals("{'v':1,'id':7}", row(changes(PLAIN, plain, "{'v':1}").get(0)));
    assertEquals("{'v':1}", row(changes(PLAIN, new byte[] {0, 7}, "{'v':1}").get(0)));
  }

  @Test
  void tombstonesOfKeysInBytes() {
    assertRefused("are no text", changes(PLAIN, new byte[] {0, 0, 0, 49}, null));
    assertRefused("are no text", changes(PLAIN, new byte[] {(byte) 0xff, 49}, null));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '^',
      textBlock =
          """
          {'schema':{'type':'struct','fields':[]},'payload':{'id':1}} {'id':2}|goes on behind its value
          {'schema':{'type':'struct','fields':[]},'payload':{'id':1}}garbage|no JSON
          {'schema':{'type':'struct','fields':[]},'payload':{'id':1},'payload':{'id':2}}|'payload' twice
          {'schema':null,'payload':{'id':1}} 7|goes on behind its value
          {'id':1,'id':2}|'id' twice
          {'id':1,'s':{'a':1,'a':2}}|'a' twice
          """)
  void whatStandsBehindOrTwice(String message, String reason) {
    assertRefused(reason.replace('\'', '"').replace('"', '\''), changes(PLAIN, null, message));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '^',
      textBlock =
          """
          20|-2|'1200'|decimal(22, 0)
          38|-2|'1200'|string
          2|5|'0.00012'|decimal(5, 5)
          0|0|'12'|string
          """)
  void decimalsOfOddScales(String precision, String scale, String shown, String iceberg) {
    String decimal =
        "{'type':'bytes','name':'org.apache.kafka.connect.data.Decimal','field':'c','parameters':{'scale':'%s','connect.decimal.precision':'%s'}}"
            .formatted(scale, precision);
    String message =
        "{'schema':{'type':'struct','fields':[%s]},'payload':{'c':'DA=='}}".formatted(decimal);
    Change change = changes(MessageReaderTest.INFERS, null, message).get(0);
    assertEquals("{'c':" + shown + "}", row(change));
    String found = String.valueOf(change.found()).replace('"', '\'');
    assertTrue(found.contains("'c':['" + iceberg + "']"), found);
  }

  @Test
  void aScaleThatNobodyHas() {
    String scaled =
        "{'schema':{'type':'struct','fields':[{'type':'struct','name':'io.debezium.data.VariableScaleDecimal','field':'c'}]},'payload':{'c':{'scale':-2000000000,'value':'DA=='}}}";
    assertRefused(
        "the scale -2000000000, and the limit is 20000",
        changes(MessageReaderTest.INFERS, null, scaled));
  }

  @Test
  void aTypeOfCanalWithTooManyDigits() {
    String message =
        "{'database':'shop','table':'a','type':'INSERT','pkNames':['id'],'mysqlType':{'id':'int','d':'decimal(99999999999,2)'},'data':[{'id':'1','d':'1.5'}]}";
    Change change = changes("{'format':'canal-json','infers':true}", null, message).get(0);
    assertEquals("{'id':1,'d':'1.5'}", row(change));
    assertTrue(String.valueOf(change.found()).contains("\"d\":[\"string\"]"), change.found());
  }

  @Test
  void statementsThatMessagesTellByTheirType() {
    String canal = "{'database':'shop','table':'a','type':'%s','isDdl':true,'sql':'%s'}";
    String format = "{'format':'canal-json'}";
    assertRefused("TRUNCATE", changes(format, null, canal.formatted("TRUNCATE", "")));
    assertRefused("/*x*/ DROP", changes(format, null, canal.formatted("ERASE", "/*x*/ DROP a")));
    String maxwell =
        "{'type':'table-alter','database':'shop','table':'a','def':{'database':'shop','table':'%s'},'sql':'alter table a rename b'}";
    assertRefused("rename b", changes("{'format':'maxwell-json'}", null, maxwell.formatted("b")));
    assertEquals(List.of(), changes("{'format':'maxwell-json'}", null, maxwell.formatted("a")));
  }
}
