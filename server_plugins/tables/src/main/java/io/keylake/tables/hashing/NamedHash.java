package io.keylake.tables.hashing;

import io.keylake.tables.KeyHash;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.zip.CRC32;
import org.apache.commons.codec.digest.MurmurHash3;
import org.apache.parquet.column.values.bloomfilter.XxHash;
import org.jspecify.annotations.Nullable;

/** The hashes that have a name. All but the last two are taken without a sign, modulo groups. */
public enum NamedHash implements KeyHash {
  /** 32 bits, seed 0. */
  MURMUR3_32 {
    @Override
    public int group(byte[] key, int groups) {
      return Integer.remainderUnsigned(MurmurHash3.hash32x86(key, 0, key.length, 0), groups);
    }
  },
  /** The x64 form of 128 bits, seed 0: of its two 64-bit words the first, h1. */
  MURMUR3_128 {
    @Override
    public int group(byte[] key, int groups) {
      return modulo(MurmurHash3.hash128x64(key, 0, key.length, 0)[0], groups);
    }
  },
  /** 64 bits, seed 0. */
  XXHASH64 {
    @Override
    public int group(byte[] key, int groups) {
      return modulo(XXHASH.hashBytes(key), groups);
    }
  },
  /** The CRC-32 of zip and Ethernet. */
  CRC32 {
    @Override
    public int group(byte[] key, int groups) {
      CRC32 crc = new CRC32();
      crc.update(key);
      return modulo(crc.getValue(), groups);
    }
  },
  /** All 128 bits as one number, the first byte the highest. */
  MD5_MOD {
    @Override
    public int group(byte[] key, int groups) {
      BigInteger number = new BigInteger(1, md5().digest(key));
      return number.mod(BigInteger.valueOf(groups)).intValue();
    }
  },
  /** 64 bits. */
  FNV1A {
    @Override
    public int group(byte[] key, int groups) {
      long hash = 0xcbf29ce484222325L;
      for (byte next : key) {
        hash = (hash ^ (next & 0xff)) * 0x100000001b3L;
      }
      return modulo(hash, groups);
    }
  },
  /** {@link String#hashCode}, by {@link Math#floorMod}. */
  JAVA_STRING {
    @Override
    public int group(byte[] key, int groups) {
      return Math.floorMod(new String(key, StandardCharsets.UTF_8).hashCode(), groups);
    }
  },
  /**
   * A Redis cluster's slot, CRC16 (XMODEM) modulo 16384, of what stands in the first pair of braces
   * if something does; a group is a range of slots.
   */
  REDIS_SLOT {
    @Override
    public int group(byte[] key, int groups) {
      byte[] tag = hashTag(key);
      return crc16(tag) % SLOTS * groups / SLOTS;
    }
  };

  public static final int SLOTS = 16384;
  private static final XxHash XXHASH = new XxHash();

  /** The hash of that name, or null. */
  public static @Nullable NamedHash find(String word) {
    return Arrays.stream(values())
        .filter(hash -> hash.word().equals(word))
        .findFirst()
        .orElse(null);
  }

  public static List<String> words() {
    return Arrays.stream(values()).map(NamedHash::word).toList();
  }

  private String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  private static int modulo(long hash, int groups) {
    return (int) Long.remainderUnsigned(hash, groups);
  }

  private static MessageDigest md5() {
    try {
      return MessageDigest.getInstance("MD5");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has MD5", e);
    }
  }

  private static byte[] hashTag(byte[] key) {
    int open = indexOf(key, '{', 0);
    int close = open < 0 ? -1 : indexOf(key, '}', open + 1);
    return close > open + 1 ? Arrays.copyOfRange(key, open + 1, close) : key;
  }

  private static int indexOf(byte[] key, char sign, int from) {
    for (int i = from; i < key.length; i++) {
      if (key[i] == sign) {
        return i;
      }
    }
    return -1;
  }

  private static int crc16(byte[] key) {
    int crc = 0;
    for (byte next : key) {
      crc ^= (next & 0xff) << 8;
      for (int bit = 0; bit < 8; bit++) {
        crc = (crc & 0x8000) == 0 ? crc << 1 : (crc << 1) ^ 0x1021;
      }
      crc &= 0xffff;
    }
    return crc;
  }
}
