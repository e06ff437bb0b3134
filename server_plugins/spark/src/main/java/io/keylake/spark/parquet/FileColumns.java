package io.keylake.spark.parquet;

import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Columns to read from a data file, found there by field id, so that renames cost nothing. The
 * types are those in the file: a uuid is 16 bytes here and becomes text on the way out.
 *
 * @param positions of field ids in {@code schema}; 0 is the struct of versions
 */
public record FileColumns(Map<Integer, Integer> positions, StructType schema)
    implements Serializable {
  private static final String FIELD_ID = "parquet.field.id";
  private static final String MISSING = "\u0001"; // no column's name can have it

  /**
   * @param fields top-level columns
   * @param leaves which members of the struct of versions, by field id; empty for none
   */
  public static FileColumns of(
      List<Types.NestedField> fields, KeyedSchema schema, Set<Integer> leaves) {
    Map<Integer, Integer> positions = new HashMap<>();
    List<StructField> columns = new ArrayList<>();
    for (Types.NestedField field : fields) {
      positions.put(field.fieldId(), positions.size());
      columns.add(fieldWithId(field, stored(field.type())));
    }
    if (!leaves.isEmpty()) {
      positions.put(0, positions.size());
      columns.add(
          fieldWithId(schema.mergeInfo(), only(schema.mergeInfo().type().asStructType(), leaves)));
    }
    return new FileColumns(positions, struct(columns));
  }

  /** One column of a file that has no versions. */
  public static FileColumns of(Types.NestedField field) {
    return new FileColumns(
        Map.of(field.fieldId(), 0), new StructType().add(fieldWithId(field, stored(field.type()))));
  }

  /**
   * The columns under the names that they have in a file. Spark's decoder finds a column by its id,
   * but its type by the name.
   */
  StructType in(MessageType file) {
    Map<Integer, String> names = new HashMap<>();
    addNames(file, names);
    return renamed(schema, names);
  }

  private static void addNames(GroupType group, Map<Integer, String> names) {
    for (org.apache.parquet.schema.Type field : group.getFields()) {
      if (field.getId() != null) {
        names.put(field.getId().intValue(), field.getName());
      }
      if (!field.isPrimitive()) {
        addNames(field.asGroupType(), names);
      }
    }
  }

  /** One that the file does not have gets a name that no other column has. */
  private static StructType renamed(StructType struct, Map<Integer, String> names) {
    List<StructField> all = new ArrayList<>();
    for (StructField field : struct.fields()) {
      int id = (int) field.metadata().getLong(FIELD_ID);
      String name = names.getOrDefault(id, MISSING + id);
      all.add(
          new StructField(
              name, renamed(field.dataType(), names), field.nullable(), field.metadata()));
    }
    return struct(all);
  }

  private static DataType renamed(DataType type, Map<Integer, String> names) {
    if (type instanceof StructType struct) {
      return renamed(struct, names);
    }
    if (type instanceof ArrayType list) {
      return new ArrayType(renamed(list.elementType(), names), list.containsNull());
    }
    return type instanceof MapType map
        ? new MapType(
            renamed(map.keyType(), names), renamed(map.valueType(), names), map.valueContainsNull())
        : type;
  }

  public int position(int fieldId) {
    return positions.getOrDefault(fieldId, -1);
  }

  /** The position of the struct of versions, or -1. */
  public int mergeInfo() {
    return position(0);
  }

  private static StructType only(Types.StructType struct, Set<Integer> leaves) {
    List<StructField> kept = new ArrayList<>();
    for (Types.NestedField field : struct.fields()) {
      if (field.type().isStructType()) {
        StructType nested = only(field.type().asStructType(), leaves);
        if (nested.length() > 0) {
          kept.add(fieldWithId(field, nested));
        }
      } else if (leaves.contains(field.fieldId())) {
        kept.add(fieldWithId(field, stored(field.type())));
      }
    }
    return struct(kept);
  }

  /** {@code add} of a struct would copy the members before for each one. */
  private static StructType struct(List<StructField> members) {
    return new StructType(members.toArray(StructField[]::new));
  }

  private static StructField fieldWithId(Types.NestedField field, DataType type) {
    return new StructField(
        field.name(), type, true, new MetadataBuilder().putLong(FIELD_ID, field.fieldId()).build());
  }

  private static DataType stored(Type type) {
    return switch (type.typeId()) {
      case UUID -> DataTypes.BinaryType;
      case STRUCT -> {
        List<StructField> members = new ArrayList<>();
        for (Types.NestedField field : type.asStructType().fields()) {
          members.add(fieldWithId(field, stored(field.type())));
        }
        yield struct(members);
      }
      case LIST -> DataTypes.createArrayType(stored(type.asListType().elementType()), true);
      case MAP ->
          DataTypes.createMapType(
              stored(type.asMapType().keyType()), stored(type.asMapType().valueType()), true);
      default -> SparkSchemaUtil.convert(type);
    };
  }
}
