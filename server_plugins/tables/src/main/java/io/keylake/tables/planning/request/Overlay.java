package io.keylake.tables.planning.request;

import io.keylake.tables.spec.KeyedSchema;
import org.apache.iceberg.types.Types.NestedField;

/**
 * The files of an experiment, at the head of its branch: values of its own columns, which no file
 * of the snapshot has, whatever the order of commits.
 *
 * @param schema of its files
 */
public record Overlay(long snapshotId, KeyedSchema schema) {
  /** Says that the files of the experiment may have the versions of a leaf. */
  public boolean has(NestedField leaf) {
    return schema.leaves().field(leaf.fieldId()) != null;
  }
}
