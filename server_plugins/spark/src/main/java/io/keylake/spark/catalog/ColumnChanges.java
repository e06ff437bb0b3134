package io.keylake.spark.catalog;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.schema.ColumnChange;
import io.keylake.tables.schema.ColumnChange.Position;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.iceberg.spark.SparkSchemaUtil;
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

  /** Empty for a statement that changes no column. */
  public static List<ColumnChange> of(String table, TableChange... changes) {
    boolean drops = Arrays.stream(changes).anyMatch(DeleteColumn.class::isInstance);
    boolean adds = Arrays.stream(changes).anyMatch(AddColumn.class::isInstance);
    if (drops && adds) {
      throw new KeylakeException(
          UNSUPPORTED,
          "REPLACE COLUMNS would drop all values of keyed table %s; name what changes with ADD COLUMN, DROP COLUMN, RENAME COLUMN or ALTER COLUMN"
              .formatted(table));
    }
    List<ColumnChange> columns = new ArrayList<>();
    for (TableChange change : changes) {
      ColumnChange column = of(change);
      if (column != null) {
        columns.add(column);
      }
    }
    return columns;
  }

  /** Null for what changes nothing of a column. */
  private static @Nullable ColumnChange of(TableChange change) {
    if (change instanceof AddColumn add) {
      checkAdded(add);
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
      throw noDefault(value.fieldNames());
    }
    return null;
  }

  private static void checkAdded(AddColumn add) {
    if (!add.isNullable()) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' is NOT NULL, but rows that are there have no value for it, and a partial update may not carry it; leave NOT NULL out"
              .formatted(shown(add.fieldNames())));
    }
    if (add.defaultValue() != null) {
      throw noDefault(add.fieldNames());
    }
  }

  private static KeylakeException noDefault(String[] path) {
    return new KeylakeException(
        UNSUPPORTED,
        "column '%s' cannot have a default value: a row that does not carry a column says nothing about it; leave DEFAULT out and write the value with the rows"
            .formatted(shown(path)));
  }

  private static Position position(TableChange.ColumnPosition position) {
    return new Position(position instanceof TableChange.After after ? after.column() : null);
  }

  private static String shown(String[] path) {
    return String.join(".", path);
  }
}
