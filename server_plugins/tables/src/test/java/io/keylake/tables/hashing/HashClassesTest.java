package io.keylake.tables.hashing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.keylake.tables.KeyHash;
import io.keylake.tables.KeylakeException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Classes that tables name as hashes run only where the server allows them. */
class HashClassesTest {
  static final List<String> INITIALISED = new ArrayList<>();

  static final class NoHash {
    static {
      INITIALISED.add("NoHash");
    }
  }

  public static final class Refused implements KeyHash {
    static {
      INITIALISED.add("Refused");
    }

    @Override
    public int group(byte[] key, int groups) {
      return 0;
    }
  }

  public static final class Allowed implements KeyHash {
    @Override
    public int group(byte[] key, int groups) {
      return 3;
    }
  }

  @BeforeEach
  @AfterEach
  void allowNone() {
    HashClasses.allow("");
  }

  private static String refusal(String name) {
    return assertThrows(KeylakeException.class, () -> HashClasses.load(name)).sentence();
  }

  @Test
  void aClassThatIsAllowedIsUsed() {
    HashClasses.allow("com.acme.Other, " + Allowed.class.getName());
    assertEquals(3, HashClasses.load(Allowed.class.getName()).group(new byte[0], 8));
  }

  @Test
  void nothingIsInitialisedThatIsNotAllowedOrNoHash() {
    assertEquals(
        "the hash class io.keylake.tables.hashing.HashClassesTest$Refused is not allowed here; the setting spark.keylake.hashes of the server names none; add it there, or take one of the hashes that have names",
        refusal(Refused.class.getName()));
    HashClasses.allow(NoHash.class.getName());
    assertEquals(
        "the hash class io.keylake.tables.hashing.HashClassesTest$NoHash is not a io.keylake.tables.KeyHash; let it implement that",
        refusal(NoHash.class.getName()));
    assertFalse(INITIALISED.contains("Refused") || INITIALISED.contains("NoHash"));
  }
}
