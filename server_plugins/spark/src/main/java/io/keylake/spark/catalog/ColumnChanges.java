package io.keylake.spark.catalog;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.access.CodeRights;
import io.keylake.spark.reducers.user.PythonReducer;
import io.keylake.spark.reducers.user.UserReducers;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.schema.ColumnChange;
import io.keylake.tables.schema.ColumnChange.Position;
import io.keylake.tables.schema.ReducerChange;
import io.keylake.tables.schema.SchemaChange;
import io.keylake.tables.spec.Reducer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.connector.catalog.DefaultValue;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableChange.AddColumn;
import org.apache.spark.sql.connector.catalog.TableChange.DeleteColumn;
import org.apache.spark.sql.connector.catalog.TableChange.RenameColumn;
import org.apache.spark.sql.connector.catalog.TableChange.UpdateColumnComment;
import org.apache.spark.sql.connector.catalog.TableChange.UpdateColumnDefaultValue;
import org.apache.spark.sql.connector.catalog.TableChange.UpdateColumnNullability;
import org.apache.spark.sql.connector.catalog.TableChange.UpdateColumnPosition;
import org.apache.spark.sql.connector.catalog.TableChange.UpdateColumnType;
import org.jspecify.annotations.Nullable;

/** The changes of columns that an ALTER TABLE statement makes. */
public final class ColumnChanges {
  private ColumnChanges() {}

  /** Makes the changes of columns and of their reducers; false for a statement that has none. */
  public static boolean make(Table table, Identifier ident, TableChange... changes) {
    checkNoClauses(ident, changes);
    Map<String, Reducer> reducers = KeyedProperties.reducers(ident, table.schema(), changes);
    List<ColumnChange> columns = of(table, changes);
    if (!reducers.isEmpty()) {
      reducers.forEach(
          (column, reducer) -> {
            NestedField field = table.schema().asStruct().field(column);
            if (field != null) {
              CodeRights.check(reducer, table.name());
              UserReducers.check(column, reducer, field.type());
              PythonReducer.check(column, reducer, field.type());
            }
          });
      ReducerChange.make(table, reducers);
    } else if (!columns.isEmpty()) {
      checkAlone(ident, changes);
      SchemaChange.make(table, columns);
    }
    return !reducers.isEmpty() || !columns.isEmpty();
  }

  private static void checkNoClauses(Identifier ident, TableChange... changes) {
    boolean hasConstraints =
        Arrays.stream(changes)
            .anyMatch(
                change ->
                    change instanceof TableChange.AddConstraint
                        || change instanceof TableChange.DropConstraint);
    if (hasConstraints) {
      throw new KeylakeException(
          UNSUPPORTED,
          "table %s has no constraint besides its key, which is set when the table is made; check rows on a branch before they are published"
              .formatted(ident));
    }
    if (Arrays.stream(changes).anyMatch(TableChange.ClusterBy.class::isInstance)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "table %s keeps its bucket columns; CALL system.change_buckets changes the number of buckets, and other columns need a new table"
              .formatted(ident));
    }
  }

  private static void checkAlone(Identifier ident, TableChange... changes) {
    boolean hasOthers =
        Arrays.stream(changes).anyMatch(change -> !(change instanceof TableChange.ColumnChange));
    if (hasOthers) {
      throw new KeylakeException(
          UNSUPPORTED,
          "columns and properties of %s are changed one after the other, in two statements"
              .formatted(ident));
    }
  }

  /** The changes of columns; empty for a statement that changes none. */
  private static List<ColumnChange> of(Table table, TableChange... changes) {
    boolean drops = Arrays.stream(changes).anyMatch(DeleteColumn.class::isInstance);
    boolean adds = Arrays.stream(changes).anyMatch(AddColumn.class::isInstance);
    if (drops && adds) {
      throw new KeylakeException(
          UNSUPPORTED,
          "REPLACE COLUMNS would drop all values of keyed table %s; name what changes with ADD COLUMN, DROP COLUMN, RENAME COLUMN or ALTER COLUMN"
              .formatted(table.name()));
    }
    List<ColumnChange> columns = new ArrayList<>();
    for (TableChange change : changes) {
      ColumnChange column = of(table, change);
      if (column != null) {
        columns.add(column);
      }
      if (change instanceof AddColumn add && add.defaultValue() != null) {
        NestedField added = field(add.fieldNames(), SparkSchemaUtil.convert(add.dataType()));
        columns.add(
            new ColumnChange.Default(
                List.of(add.fieldNames()),
                DefaultValues.literal(added, add.defaultValue().getSql())));
      }
    }
    return columns;
  }

  /** The change of a column; null for what changes nothing of one. */
  private static @Nullable ColumnChange of(Table table, TableChange change) {
    if (change instanceof AddColumn add) {
      checkAdded(add);
      Collations.check(shown(add.fieldNames()), add.dataType());
      return new ColumnChange.Add(
          List.of(add.fieldNames()),
          SparkSchemaUtil.convert(add.dataType()),
          add.comment(),
          add.position() == null ? null : position(add.position()));
    }
    if (change instanceof DeleteColumn drop) {
      return new ColumnChange.Drop(
          List.of(drop.fieldNames()), Boolean.TRUE.equals(drop.ifExists()));
    }
    if (change instanceof RenameColumn rename) {
      return new ColumnChange.Rename(List.of(rename.fieldNames()), rename.newName());
    }
    if (change instanceof UpdateColumnType type) {
      Collations.check(shown(type.fieldNames()), type.newDataType());
      return new ColumnChange.Widen(
          List.of(type.fieldNames()), SparkSchemaUtil.convert(type.newDataType()));
    }
    if (change instanceof UpdateColumnComment comment) {
      return new ColumnChange.Comment(List.of(comment.fieldNames()), comment.newComment());
    }
    if (change instanceof UpdateColumnPosition move) {
      return new ColumnChange.Move(List.of(move.fieldNames()), position(move.position()));
    }
    if (change instanceof UpdateColumnNullability nullability) {
      throw new KeylakeException(
          DEFINITION,
          "whether column '%s' can be null cannot be changed: key columns never are, and other columns always may be, because a partial update may not carry them; leave it as it is"
              .formatted(shown(nullability.fieldNames())));
    }
    if (change instanceof UpdateColumnDefaultValue value) {
      return defaultOf(table, value);
    }
    return null;
  }

  private static ColumnChange defaultOf(Table table, UpdateColumnDefaultValue change) {
    List<String> path = List.of(change.fieldNames());
    Type type = table.schema().findType(String.join(".", path));
    DefaultValue value = change.newCurrentDefault();
    return new ColumnChange.Default(
        path,
        value == null || type == null
            ? null
            : DefaultValues.literal(field(change.fieldNames(), type), value.getSql()));
  }

  private static NestedField field(String[] path, Type type) {
    return NestedField.optional(1, shown(path), type);
  }

  private static void checkAdded(AddColumn add) {
    if (!add.isNullable()) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' is NOT NULL, but rows that are there have no value for it, and a partial update may not carry it; leave NOT NULL out"
              .formatted(shown(add.fieldNames())));
    }
  }

  private static Position position(TableChange.ColumnPosition position) {
    return new Position(position instanceof TableChange.After after ? after.column() : null);
  }

  private static String shown(String[] path) {
    return String.join(".", path);
  }
}
