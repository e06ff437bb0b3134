package io.keylake.spark.publish;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.outcomes.CertainOperations;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.UpdateProperties;
import org.apache.iceberg.UpdateSchema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * The columns of a copy, and which column of the keyed table each one holds. Ids tell it, since
 * names change; the two tables give ids of their own.
 */
final class CopyColumns {
  /** The property with the reason why all rows have to be written again, until they are. */
  static final String REWRITE = "keylake.copy.rewrite";

  static final String PROPERTY = "keylake.copy.columns";

  private final Schema source;
  private final Table copy;

  CopyColumns(Schema source, Table copy) {
    this.source = source;
    this.copy = copy;
  }

  /** Refuses types that a table of format version 2 cannot have. */
  static void check(String table, Schema source) {
    try {
      Schema.checkCompatibility(source, PlainCopy.FORMAT_VERSION);
    } catch (IllegalStateException e) {
      throw new KeylakeException(
          UNSUPPORTED,
          "table %s has columns that a plain table of format version %d cannot hold (%s); drop them, or read the branch merged"
              .formatted(table, PlainCopy.FORMAT_VERSION, String.valueOf(e.getMessage()).strip()));
    }
  }

  private static String said(Map<Integer, Integer> ids) {
    return ids.entrySet().stream()
        .map(each -> each.getKey() + "=" + each.getValue())
        .collect(Collectors.joining(","));
  }

  private static Map<Integer, Integer> byName(Schema source, Schema copy) {
    return source.columns().stream()
        .filter(column -> copy.findField(column.name()) != null)
        .collect(
            Collectors.toMap(
                NestedField::fieldId, column -> copy.findField(column.name()).fieldId()));
  }

  /** Ids of the copy by those of the keyed table; of a copy that was made just now, by names. */
  private Map<Integer, Integer> known() {
    String said = copy.properties().get(PROPERTY);
    if (said == null) {
      return byName(source, copy.schema());
    }
    Map<Integer, Integer> known = new LinkedHashMap<>();
    Arrays.stream(said.split(","))
        .map(pair -> pair.split("="))
        .forEach(pair -> known.put(Integer.valueOf(pair[0]), Integer.valueOf(pair[1])));
    return known;
  }

  /** Gives the copy the columns that the keyed table has, in one commit. */
  void follow() {
    Map<Integer, Integer> ids = known();
    Transaction transaction = CertainOperations.of(copy).newTransaction();
    UpdateSchema update = transaction.updateSchema();
    boolean isChanged = !copy.properties().containsKey(PROPERTY) | dropped(ids, update);
    @Nullable String full = null;
    for (NestedField column : source.columns()) {
      Integer id = ids.get(column.fieldId());
      NestedField there = id == null ? null : copy.schema().findField(id);
      if (there == null) {
        update.addColumn(column.name(), column.type(), column.doc());
        isChanged = true;
        full =
            id == null && column.initialDefault() == null
                ? full
                : "column %s is new".formatted(column.name());
      } else {
        isChanged |= renamed(there, column, update);
        if (!sameType(there.type(), column.type())) {
          isChanged = true;
          full =
              retyped(there, column, update)
                  ? full
                  : "column %s has another type".formatted(column.name());
        }
      }
    }
    if (isChanged) {
      update.commit();
      UpdateProperties properties = transaction.updateProperties();
      properties.set(PROPERTY, said(byName(source, transaction.table().schema())));
      if (full != null) {
        properties.set(REWRITE, full);
      }
      properties.commit();
      transaction.commitTransaction();
      copy.refresh();
    }
  }

  private boolean dropped(Map<Integer, Integer> ids, UpdateSchema update) {
    Set<Integer> here =
        source.columns().stream().map(NestedField::fieldId).collect(Collectors.toSet());
    boolean isAny = false;
    for (Map.Entry<Integer, Integer> each : ids.entrySet()) {
      if (!here.contains(each.getKey())) {
        NestedField there = copy.schema().findField(each.getValue());
        if (there != null) {
          update.deleteColumn(there.name());
        }
        isAny = true;
      }
    }
    return isAny;
  }

  private static boolean renamed(NestedField there, NestedField column, UpdateSchema update) {
    if (there.name().equals(column.name())) {
      return false;
    }
    update.renameColumn(there.name(), column.name());
    return true;
  }

  /** Widens a column; returns false where it was made anew instead. */
  private static boolean retyped(NestedField there, NestedField column, UpdateSchema update) {
    Type type = column.type();
    if (type.isPrimitiveType()
        && TypeUtil.isPromotionAllowed(there.type(), type.asPrimitiveType())) {
      update.updateColumn(there.name(), type.asPrimitiveType());
      return true;
    }
    update.deleteColumn(there.name());
    update.addColumn(column.name(), type, column.doc());
    return false;
  }

  /** Two types are equal but for the ids of what is in them. */
  private static boolean sameType(Type one, Type other) {
    return one.isPrimitiveType() || other.isPrimitiveType()
        ? one.equals(other)
        : one.toString().replaceAll("\\d+: ", "").equals(other.toString().replaceAll("\\d+: ", ""));
  }
}
