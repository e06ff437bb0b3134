package io.keylake.tables.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.CaseFiles;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.planning.MemoryTables;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types.NestedField;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Reducers as properties say them, and the hidden columns that they have. */
class ReducerTest {
  private static final String ACCUMULATORS = "spec/accumulators.json";

  private static TableSpec accumulators() {
    return TableSpec.fromJson(CaseFiles.json(ACCUMULATORS).get("property").toString());
  }

  @Test
  void theFormOfPropertiesComesBack() {
    TableSpec spec = accumulators();
    Map<String, String> said = SpecProperties.write(spec);
    assertEquals("Sum", said.get("reduce.clicks"));
    assertEquals("Collect(distinct, limit=100)", said.get("reduce.tags"));
    assertEquals("Daily(days=30, of=Sum)", said.get("reduce.by_day"));
    assertEquals("Collect(limit=2147483647)", said.get("reduce.firsts"));
    assertEquals(spec.reducers(), SpecProperties.reducers(said, name -> name));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          Sum()                              | Sum
          ' Collect ( ) '                    | Collect
          Collect( limit = 3 ,distinct )     | Collect(distinct, limit=3)
          Collect(limit=+7)                  | Collect(limit=7)
          Hll                                | Hll(lg_k=12)
          Hll( lg_k = 21 )                   | Hll(lg_k=21)
          Theta()                            | Theta(lg_nominal=12)
          Theta(lg_nominal=4)                | Theta(lg_nominal=4)
          Kll(values=long)                   | Kll(k=200, values=long)
          Kll(values=float, k=8)             | Kll(k=8, values=float)
          Daily                              | 'Daily(days=90, of=Sum)'
          'Daily( of = Max, days=7)'         | 'Daily(days=7, of=Max)'
          TopN(by=score)                     | 'TopN(by=score, n=10)'
          'TopN(by=`my ``score`, n=3)'       | 'TopN(by=`my ``score`, n=3)'
          LatestN(n=5)                       | LatestN(n=5)
          BitmapOr(pages)                    | BitmapOr(pages)
          'MapMerge(of=Collect(limit=2, distinct))' | 'MapMerge(of=Collect(distinct, limit=2))'
          'Struct(b=Max, a=MapMerge(of=Sum))' | 'Struct(a=MapMerge(of=Sum), b=Max)'
          """)
  void otherWaysToWriteIt(String text, String form) {
    if (form == null) {
      assertThrows(KeylakeException.class, () -> ReducerForm.parse("tags", text));
    } else {
      assertEquals(form, ReducerForm.text(ReducerForm.parse("tags", text)));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          sum                              | 'sum', which this server does not know; it knows Latest, LatestNotNull, Sum
          Collect(                         | options in parentheses
          Collect(limit)                   | the limit of Collect is true in column 'tags'; use a whole number
          Collect(limit=many)              | the limit of Collect is many
          Collect(limit=1, limit=2)        | the option 'limit' twice
          Collect(distinct,)               | cannot be read from position 18 on
          Collect(distinct=3)              | the option distinct of Collect is 3 in column 'tags'; it is true or false
          Collect(limit=0)                 | the limit of Collect is 0 in column 'tags'
          Collect(limit=-1)                | the limit of Collect is -1
          Collect(limit=2147483648)        | from 1 to 2147483647
          Daily(days=3661)                 | the days of Daily is 3661 in column 'tags'; use a whole number from 1 to 3660
          Daily(of=Count)                  | is of Count; it is of Sum, Min or Max
          Daily(limit=3)                   | the option 'limit', which Daily does not have
          Sum(distinct)                    | the option 'distinct', which Sum does not have
          Sum(lg_k=12)                     | the option 'lg_k', which Sum does not have
          Theta(lg_k=12)                   | the option 'lg_k', which Theta does not have
          Hll(values=long)                 | the option 'values', which Hll does not have
          Hll(lg_k=12, lg_k=12)            | the option 'lg_k' twice
          TopN(n=3)                        | lacks the option 'by', which it needs
          TopN(by=3)                       | the option by of TopN is 3 in column 'tags'; write the name of a member
          TopN(by=score, n=0)              | the n of TopN is 0 in column 'tags'; use a whole number from 1 to 10000
          LatestN(n=10001)                 | the n of LatestN is 10001
          MapMerge(of=Latest)              | is of Latest; it is of a reducer that combines all values without versions
          MapMerge(of=Daily(days=0))       | the days of Daily is 0
          Struct                           | lacks the option 'members'
          Struct(clicks)                   | member 'clicks' of column 'tags' has the reducer true
          Struct(clicks=First)             | member 'clicks' of column 'tags' has the reducer First
          Struct(clicks=Sum) more          | cannot be read from position 20 on
          Hll(lg_k=22)                     | the lg_k of Hll is 22 in column 'tags'; use a whole number from 4 to 21
          Hll(lg_k=99999999999)            | the lg_k of Hll is 99999999999
          Theta(lg_nominal=3)              | from 4 to 26
          Kll(k=7)                         | from 8 to 65535
          Kll(values=int)                  | the values of Kll are 'int' in column 'tags'; they are long, float or double
          """)
  void whatIsNoReducer(String text, String says) {
    KeylakeException refused =
        assertThrows(KeylakeException.class, () -> ReducerForm.parse("tags", text));
    assertTrue(refused.getMessage().contains(says), refused.getMessage());
    assertTrue(refused.getMessage().contains("'tags'"), refused.getMessage());
  }

  @Test
  void accumulatorsHaveLeavesOfTheirOwnAndSumsHaveStates() {
    Table table =
        MemoryTables.create(
            TableDefinition.fromJson(CaseFiles.json(ACCUMULATORS).get("spec").toString()));
    KeyedSchema schema = KeyedSchema.of(table);
    assertEquals(
        List.of("clicks", "spend", "price", "days", "by_day"),
        schema.states().fields().stream().map(NestedField::name).toList());
    for (NestedField value : schema.values()) {
      boolean shares = value.name().equals("last_page");
      assertEquals(shares ? "behaviour" : value.name(), schema.leafOf(value).name());
    }
    assertNull(schema.stateOf(schema.visible().findField("visits")));
  }

  @Test
  void aTableWithoutSumsHasNoStates() {
    Table table =
        MemoryTables.create(
            TableDefinition.fromJson(
                CaseFiles.json("spec/compound_key.json").get("spec").toString()));
    KeyedSchema schema = KeyedSchema.of(table);
    assertNull(schema.mergeInfo().type().asStructType().field(KeyedSchema.STATES));
    assertEquals(List.of(), schema.states().fields());
  }
}
