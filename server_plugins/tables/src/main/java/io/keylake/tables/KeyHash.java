package io.keylake.tables;

/**
 * Says in which group a key-value store keeps a key. A class of one's own lies on the server's
 * class path, has a public constructor without parameters, and is named in full in a table's spec.
 * It must give the same group for ever: keys are looked for where it puts them.
 */
public interface KeyHash {
  /**
   * The group of a key, from 0 to {@code groups - 1}; called by several threads at once.
   *
   * @param key as the store sees it: see {@code GroupHash}
   */
  int group(byte[] key, int groups);
}
