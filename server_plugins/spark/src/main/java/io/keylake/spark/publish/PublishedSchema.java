package io.keylake.spark.publish;

import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.iceberg.Schema;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * The columns that are published.
 *
 * @param values in schema order
 * @param hasTombstones whether there are rows of deleted keys
 */
record PublishedSchema(KeyedSchema table, List<NestedField> values, boolean hasTombstones)
    implements Serializable {

  /**
   * @param wanted names of value columns, and of key columns, which are there anyway; null for all
   */
  static PublishedSchema of(
      KeyedSchema table, @Nullable List<String> wanted, boolean hasTombstones) {
    if (wanted == null) {
      return new PublishedSchema(table, table.values(), hasTombstones);
    }
    Set<NestedField> chosen = new HashSet<>();
    wanted.forEach(name -> chosen.add(column(table.visible(), name)));
    List<NestedField> values = table.values().stream().filter(chosen::contains).toList();
    return new PublishedSchema(table, values, hasTombstones);
  }

  private static NestedField column(Schema columns, String name) {
    NestedField column = columns.asStruct().caseInsensitiveField(name);
    if (column == null) {
      List<String> known = columns.columns().stream().map(NestedField::name).toList();
      throw new KeylakeException(
          SCHEMA_MISMATCH,
          "column '%s' is not in the table; its columns are %s".formatted(name, known));
    }
    return column;
  }

  List<NestedField> key() {
    return table.key();
  }

  /** Key and values. */
  Schema columns() {
    return new Schema(Stream.concat(key().stream(), values.stream()).toList());
  }

  StructType sparkKey() {
    return SparkSchemaUtil.convert(new Schema(key()));
  }

  StructType sparkValues() {
    return SparkSchemaUtil.convert(new Schema(values));
  }

  List<Manifest.Column> described() {
    List<Manifest.Column> columns = new ArrayList<>();
    Set<NestedField> keys = Set.copyOf(key());
    for (NestedField field : columns().columns()) {
      columns.add(new Manifest.Column(field.name(), field.type().toString(), keys.contains(field)));
    }
    return columns;
  }
}
