package io.keylake.spark.publish;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.Serializable;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The list of what is published: of which table, as of which commit, and in which files. It lies in
 * the target as JSON.
 *
 * @param after only what has changed after that commit; null for all rows
 * @param hash by which keys fall into groups; null where the groups are the buckets of the table
 * @param files those of the groups that have something, by group; empty while they are written
 */
record Manifest(
    String table,
    String tableUuid,
    long snapshotId,
    @Nullable Long after,
    String format,
    @Nullable String hash,
    int groups,
    int buckets,
    List<Column> columns,
    List<GroupFile> files)
    implements Serializable {
  private static final JsonMapper JSON =
      JsonMapper.builder()
          .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
          .enable(SerializationFeature.INDENT_OUTPUT)
          .build();

  /**
   * A column of the files.
   *
   * @param type in Iceberg's words
   */
  record Column(String name, String type, boolean key) implements Serializable {}

  /**
   * The file of one group.
   *
   * @param rows keys that are there
   * @param tombstones keys that were deleted
   * @param crc32 of the file's bytes, in hexadecimal digits
   */
  record GroupFile(int group, String file, long rows, long tombstones, long bytes, String crc32)
      implements Serializable {}

  Manifest with(List<GroupFile> files) {
    return new Manifest(
        table, tableUuid, snapshotId, after, format, hash, groups, buckets, columns, files);
  }

  /** Both manifests are about the same rows in the same form. */
  boolean asksForThat(Manifest other) {
    return with(List.of()).equals(other.with(List.of()));
  }

  String toJson() {
    return json(this);
  }

  /** The manifest that a text is; null where it is none of ours. */
  static @Nullable Manifest fromJson(String text) {
    try {
      return JSON.readValue(text, Manifest.class);
    } catch (JsonProcessingException e) {
      return null;
    }
  }

  static String json(Object value) {
    try {
      return JSON.writeValueAsString(value);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a manifest cannot be written as JSON", e);
    }
  }

  static List<GroupFile> files(String text) {
    try {
      return List.of(JSON.readValue(text, GroupFile[].class));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a record of progress cannot be read", e);
    }
  }
}
