package io.keylake.pipelines.messages;

import static io.keylake.pipelines.messages.MessageReaderTest.INFERS;
import static io.keylake.pipelines.messages.MessageReaderTest.SOURCE;
import static io.keylake.pipelines.messages.MessageReaderTest.debezium;
import static io.keylake.pipelines.messages.MessageReaderTest.read;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Fields that are absent, that no column holds, or whose type no schema says. */
class MessageFieldsTest {
  /** As Debezium writes them for texts, bytes, lists, maps and uuids; others are values. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '^',
      textBlock =
          """
          '__debezium_unavailable_value'
          'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=='
          '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565'
          ['__debezium_unavailable_value']
          ['X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==']
          {'__debezium_unavailable_value':'__debezium_unavailable_value'}
          ['b68a35a7-17ad-35b3-af2a-ae46edb4545a']
          [95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]
          """)
  void valuesThatWereNotLoggedAreAbsent(String value) {
    String after = "{'id':1,'v':%s,'n':['x'],'o':{'__debezium_unavailable_value':1},'e':[]}";
    assertEquals(
        List.of("u {'id':1,'n':['x'],'o':{'__debezium_unavailable_value':1},'e':[]} @12288"),
        read(
            "{'format':'debezium-json'}",
            "{'id':1}",
            debezium("u", "null", after.formatted(value))));
  }

  /**
   * A connector may have another placeholder, as text or as bytes; the usual one is a value then.
   */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '^',
      textBlock =
          """
          gone|'gone'
          gone|'Z29uZQ=='
          gone|'676f6e65'
          gone|['gone']
          gone|{'gone':'gone'}
          gone|[103,111,110,101]
          hex:676f6e65|'gone'
          hex:676f6e65|'Z29uZQ=='
          hex:ff|'/w=='
          """)
  void valuesOfAnotherPlaceholderAreAbsent(String placeholder, String value) {
    String after = "{'id':1,'v':%s,'u':'__debezium_unavailable_value'}".formatted(value);
    assertEquals(
        List.of("u {'id':1,'u':'__debezium_unavailable_value'} @12288"),
        read(
            "{'format':'debezium-json','placeholder':'%s'}".formatted(placeholder),
            "{'id':1}",
            debezium("u", "null", after)));
  }

  @Test
  void datesThatWereNotLoggedAreAbsent() {
    byte[] text = "__debezium_unavailable_value".getBytes(StandardCharsets.US_ASCII);
    List<Integer> days = IntStream.range(0, text.length).mapToObj(i -> (int) text[i]).toList();
    String row =
        "{'type':'struct','field':'%s','fields':[{'type':'int32','field':'id'},{'type':'array','field':'c','items':{'type':'int32','name':'io.debezium.time.Date'}}]}";
    String message =
        "{'schema':{'type':'struct','fields':[%s]},'payload':{'after':{'id':1,'c':%s},'op':'u',%s}}"
            .formatted(row.formatted("after"), days, SOURCE);
    assertEquals(
        List.of("u {'id':1} @12288"), read("{'format':'debezium-json'}", "{'id':1}", message));
  }

  /** Such a message is refused alone: the tables of its batch have no column of it. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '^',
      textBlock =
          """
          {'id':1,'':2}|it has a field with the name ''
          {'id':1,'name':2,'NaMe':3}|it has the fields 'name' and 'NaMe'
          {'id':1,'v':'\\ud83d'}|it has half of a character
          {'id':1,'v':'\\ud83d.'}|it has half of a character
          {'id':1,'v':['\\ude00']}|it has half of a character
          {'id':1,'\\ude00':1}|it is no JSON: Unexpected low surrogate
          """)
  void rowsThatNoTableHolds(String row, String reason) {
    for (String format : List.of("{'format':'json','keys':{'*':['id']}}", INFERS)) {
      List<String> read = read(format, null, row);
      assertEquals(1, read.size(), row);
      assertTrue(read.get(0).startsWith("! " + reason), row + ": " + read);
    }
    String whole = "{'id':1,'v':'\\uD83D\\uDE00'}";
    assertEquals(List.of("u " + whole + " @12288"), read(INFERS, null, whole));
  }

  @Test
  void listsAndObjectsWithoutASchemaAreText() {
    String row = "{'id':1,'tags':['a',1.50],'home':{'zip':1},'none':[]}";
    String text = "{'id':1,'tags':'[\\'a\\',1.50]','home':'{\\'zip\\':1}','none':'[]'}";
    assertEquals(List.of("u " + text + " @12288"), read(INFERS, null, row));
    assertEquals(
        List.of("c " + text + " @12288"),
        read("{'format':'debezium-json','infers':true}", "{'id':1}", debezium("c", "null", row)));
    // Columns that are declared take them as they are.
    assertEquals(List.of("u " + row + " @12288"), read("{'format':'json'}", null, row));
  }

  /** Kafka Connect writes so what has no schema. */
  @Test
  void schemasThatAreNull() {
    String message = "{'schema':null,'payload':%s}";
    assertEquals(
        List.of("c {'id':1} @12288"),
        read(
            "{'format':'debezium-json'}",
            message.formatted("{'id':1}"),
            message.formatted(debezium("c", "null", "{'id':1}"))));
    String row = message.formatted("1");
    assertEquals(List.of("u " + row + " @12288"), read("{'format':'json'}", null, row));
  }
}
