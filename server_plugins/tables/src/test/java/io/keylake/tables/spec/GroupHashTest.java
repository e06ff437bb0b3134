package io.keylake.tables.spec;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.CaseFiles;
import io.keylake.tables.KeyHash;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.hashing.BucketHashTest;
import io.keylake.tables.hashing.HashClasses;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Groups as the hashes' authors, and Python, compute them: both read the same file. */
class GroupHashTest {
  private static final int[] PRIMES = {8191, 999_983};

  static List<JsonNode> published() {
    return cases("published");
  }

  static List<JsonNode> keys() {
    return cases("keys");
  }

  private static List<JsonNode> cases(String part) {
    JsonNode all = CaseFiles.json("groups.json").get(part);
    return StreamSupport.stream(all.spliterator(), false).toList();
  }

  private static GroupHash hash(String name, int groups, int buckets) {
    return new GroupHash(
        new TableSpec(
            List.of("k"),
            TableSpec.Versions.COMMIT,
            null,
            buckets,
            List.of("k"),
            List.of(),
            Map.of(),
            Map.of(),
            new KeyGroups(groups, name)));
  }

  @ParameterizedTest
  @MethodSource("published")
  void aHashIsItsAuthors(JsonNode given) {
    String name = given.get("hash").textValue();
    byte[] text = given.get("text").textValue().getBytes(StandardCharsets.UTF_8);
    BigInteger value = new BigInteger(given.get("value").textValue(), 16);
    if (name.equals("redis_slot")) {
      assertEquals(value.intValue(), hash(name, 16384, 16).add(text).group());
      assertEquals(value.intValue() / 16, hash(name, 1024, 16).add(text).group());
      return;
    }
    for (int groups : PRIMES) {
      assertEquals(
          value.mod(BigInteger.valueOf(groups)).intValue(),
          hash(name, groups, 16).add(text).group());
    }
  }

  @ParameterizedTest
  @MethodSource("keys")
  void aKeyFallsIntoItsGroup(JsonNode given) {
    GroupHash hash =
        hash(
                given.get("hash").textValue(),
                given.get("groups").intValue(),
                given.get("buckets").intValue())
            .add(new byte[] {1})
            .reset();
    for (int i = 0; i < given.get("types").size(); i++) {
      Type type = Types.fromPrimitiveString(given.get("types").get(i).textValue());
      hash.add(type, BucketHashTest.value(type, given.get("values").get(i)));
    }
    assertEquals(given.get("group").intValue(), hash.group());
    assertEquals(given.get("bucket").intValue(), hash.bucket());
  }

  /** A hash as people bring their own. */
  public static final class FirstByte implements KeyHash {
    @Override
    public int group(byte[] key, int groups) {
      return key[0];
    }
  }

  @Test
  void aClassOfOnesOwn() {
    HashClasses.allow(FirstByte.class.getName());
    GroupHash hash = hash(FirstByte.class.getName(), 64, 8);
    assertEquals(33, hash.add("!".getBytes(StandardCharsets.UTF_8)).group());
    assertEquals(4, hash.bucket());
    hash.reset().add("A".getBytes(StandardCharsets.UTF_8));
    assertTrue(
        assertThrows(IllegalStateException.class, hash::group)
            .getMessage()
            .contains("gave group 65 of 64"));
  }

  @Test
  void aClassThatIsNotThereOrIsNoHash() {
    HashClasses.allow("com.example.Missing, java.lang.String");
    KeylakeException missing =
        assertThrows(KeylakeException.class, () -> hash("com.example.Missing", 64, 8));
    assertEquals(UNSUPPORTED, missing.kind());
    assertTrue(missing.getMessage().contains("com.example.Missing"));
    assertTrue(missing.getMessage().contains("class path"));
    KeylakeException other =
        assertThrows(KeylakeException.class, () -> hash("java.lang.String", 64, 8));
    assertEquals(DEFINITION, other.kind());
    assertTrue(other.getMessage().contains("let it implement"));
  }

  @Test
  void aBucketHoldsARangeOfGroupsAndEachSomething() {
    KeyGroups groups = new KeyGroups(10, "crc32");
    List<Integer> buckets =
        java.util.stream.IntStream.range(0, 10).mapToObj(group -> groups.bucket(group, 4)).toList();
    assertEquals(List.of(0, 0, 0, 1, 1, 2, 2, 2, 3, 3), buckets);
    assertEquals(999_999, new KeyGroups(1_000_000, "crc32").bucket(999_999, 1_000_000));
  }
}
