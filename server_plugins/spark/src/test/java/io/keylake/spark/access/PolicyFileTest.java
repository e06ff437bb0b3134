package io.keylake.spark.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PolicyFileTest {
  private static final String DIGEST = "a".repeat(64);
  private static final String ANA = "principals: {ana: {token_sha256: " + DIGEST + "}}\n";

  @TempDir Path folder;

  private Policy read(String text) throws IOException {
    return PolicyFile.read(Files.writeString(folder.resolve("policy.yaml"), text));
  }

  private static Need reading(String table) {
    return Need.ofBranch(Right.READ, table, Need.MAIN, "");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "principles: {} | Did you mean principals?",
        "principals: {} | it names no principals",
        "principals: {ana: {token: x}} | the word token, which is unknown there",
        "principals: {ana: {token_sha256: abc}} | is no SHA-256",
        "principals: {ana: {}} | principal ana has no token",
        "principals: {ana: {signed: true}} | there is no key",
        "principals: {'a b': {signed: true}} | is no name of a principal",
        "principals: [ana] | has to be names with values",
        "principals: { | it is not YAML",
        "rules: [{who: bob, tables: x, may: read}] | rule 1 names bob, which is no principal",
        "rules: [{who: ana, tables: x, may: reed}] | Did you mean read?",
        "rules: [{who: ana, table: x, may: read}] | Did you mean tables?",
        "rules: [{who: ana, may: read}] | rule 1 needs tables:",
        "rules: [{who: ana, tables: x, may: files}] | its rights concern the server",
        "rules: [{who: ana, tables: x}] | needs who: and may:",
        "rules: [{who: ana, tables: x, may: [read, write], rows: a}] | has rows:, which narrow",
        "rules: [{who: ana, tables: x, may: drop, columns: {only: a}}] | has columns:, which narrow",
        "rules: [{who: ana, tables: x, may: read, columns: {only: a, except: b}}] | not both",
        "rules: [{who: ana, tables: x, may: read, rows: 5}] | rows has to be a text in quotes",
        "rules: [{who: ana, tables: x, may: read, rows: 'a = \"b\"'}] | write texts in single quotes",
        "groups: {ana: [ana]} | is taken by a group or a principal",
        "groups: {g: [h]} | group g names h",
      })
  void aMistakeIsRefusedWithItsPlace(String text, String words) {
    String whole = text.startsWith("rules") || text.startsWith("groups") ? ANA + text : text;
    KeylakeException refused = assertThrows(KeylakeException.class, () -> read(whole));
    assertTrue(refused.sentence().contains(words), refused.sentence());
    assertTrue(refused.sentence().startsWith("the access policy "), refused.sentence());
  }

  @Test
  void aFileThatIsNotThereIsRefused() {
    KeylakeException refused =
        assertThrows(KeylakeException.class, () -> PolicyFile.read(folder.resolve("missing.yaml")));
    assertTrue(refused.sentence().contains("it cannot be read"), refused.sentence());
  }

  @Test
  void nothingIsAllowedThatNoRuleAllows() throws IOException {
    Policy policy =
        read(ANA + "rules: [{who: ana, tables: 'lake.a.*', branches: main, may: [read, drop]}]");
    assertTrue(policy.allows("ana", reading("lake.a.t")));
    assertFalse(policy.allows("ana", reading("lake.b.t")));
    assertFalse(policy.allows("ana", Need.of(Right.READ, "lake.a.t", "")), "of any branch");
    assertFalse(policy.allows("ana", Need.ofBranch(Right.WRITE, "lake.a.t", Need.MAIN, "")));
    assertFalse(policy.allows("nobody", reading("lake.a.t")));
    assertFalse(policy.allows("ana", Need.ofServer(Right.FILES, "")));
    assertTrue(policy.isNamespaceSeen("ana", "lake.a"));
    assertTrue(policy.isNamespaceSeen("ana", "lake.a.b"));
    assertFalse(policy.isNamespaceSeen("ana", "lake.b"));
  }

  @Test
  void rulesAddUpAndAWholeTableOutweighsAPart() throws IOException {
    String part = "{who: ana, tables: 'lake.*', may: read, rows: 'a = 1', columns: {except: b}}";
    Policy narrow = read(ANA + "rules: [" + part + "]");
    assertFalse(narrow.allows("ana", reading("lake.t")));
    assertTrue(narrow.allows("ana", reading("lake.t").narrowable()));
    assertEquals("a = 1", narrow.narrowing("ana", "lake.t", "main").orElseThrow().rows());
    Policy both = read(ANA + "rules: [" + part + ", {who: ana, tables: lake.t, may: read}]");
    assertTrue(both.allows("ana", reading("lake.t")));
    assertTrue(both.narrowing("ana", "lake.t", "main").orElseThrow().isNone());
    assertFalse(both.narrowing("ana", "lake.u", "main").orElseThrow().isNone());
  }

  @Test
  void aRuleForColumnsGivesWritesOfThoseColumns() throws IOException {
    Policy policy =
        read(ANA + "rules: [{who: ana, tables: t, may: write, columns: {only: [id, a]}}]");
    Need write = Need.ofBranch(Right.WRITE, "t", Need.MAIN, "");
    assertTrue(policy.allows("ana", write.ofColumns(Set.of("ID", "a"))));
    assertFalse(policy.allows("ana", write.ofColumns(Set.of("id", "b"))));
    assertFalse(policy.allows("ana", write));
  }
}
