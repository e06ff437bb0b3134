package io.keylake.plaindeletes.scan;

import java.io.Serializable;
import java.util.List;

/**
 * The equality deletes of a data file.
 *
 * @param sequenceNumber deletes with a greater one apply
 * @param groups the numbers of the groups in which they are
 */
record FileDeletes(long sequenceNumber, List<Integer> groups) implements Serializable {}
