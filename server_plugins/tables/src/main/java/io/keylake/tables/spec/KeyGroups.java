package io.keylake.tables.spec;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeyHash;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.hashing.HashClasses;
import io.keylake.tables.hashing.NamedHash;
import java.io.Serializable;

/**
 * The groups in which an online key-value store keeps the keys of a table. Each bucket holds a
 * range of them: group {@code g} lies in bucket {@code g * buckets / groups}.
 *
 * @param count how many
 * @param hash the name of a hash, or of a class that is a {@link KeyHash}
 */
public record KeyGroups(int count, String hash) implements Serializable {
  public KeyGroups {
    if (count < 1 || count > TableSpec.MOST_BUCKETS) {
      throw new KeylakeException(
          DEFINITION,
          "groups is %d; it must be from 1 to %d".formatted(count, TableSpec.MOST_BUCKETS));
    }
    if (NamedHash.find(hash) == null && !hash.contains(".")) {
      throw new KeylakeException(
          DEFINITION,
          "hash is '%s'; it must be one of %s, or the full name of a class that implements %s"
              .formatted(hash, String.join(", ", NamedHash.words()), KeyHash.class.getName()));
    }
    if (NamedHash.find(hash) == NamedHash.REDIS_SLOT && NamedHash.SLOTS % count != 0) {
      throw new KeylakeException(
          DEFINITION,
          "groups is %d, which does not divide the %d slots of redis_slot; take a power of 2"
              .formatted(count, NamedHash.SLOTS));
    }
  }

  int bucket(int group, int buckets) {
    return (int) ((long) group * buckets / count);
  }

  boolean hashesText() {
    return NamedHash.find(hash) == NamedHash.JAVA_STRING;
  }

  /** The hash itself; refused where the server does not allow its class, or has none of it. */
  KeyHash hasher() {
    NamedHash named = NamedHash.find(hash);
    return named != null ? named : HashClasses.load(hash);
  }
}
