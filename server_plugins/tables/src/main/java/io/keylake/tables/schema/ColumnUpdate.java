package io.keylake.tables.schema;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.schema.ColumnChange.Add;
import io.keylake.tables.schema.ColumnChange.Comment;
import io.keylake.tables.schema.ColumnChange.Default;
import io.keylake.tables.schema.ColumnChange.Drop;
import io.keylake.tables.schema.ColumnChange.Move;
import io.keylake.tables.schema.ColumnChange.Position;
import io.keylake.tables.schema.ColumnChange.Rename;
import io.keylake.tables.schema.ColumnChange.Widen;
import io.keylake.tables.spec.Experiment;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableDefinition;
import io.keylake.tables.spec.TableSpec;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.UpdateSchema;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * Says changes of columns in Iceberg's words:
 *
 * <ol>
 *   <li>A value column and its version leaf are added, renamed and dropped together. A leaf that a
 *       column group shares keeps the group's name, and goes with its last column.
 *   <li>Names in the spec follow those of the columns.
 *   <li>What comes out must be a table that could be created.
 * </ol>
 */
final class ColumnUpdate {
  private final Table table;
  private final KeyedSchema before;
  private final UpdateSchema update;
  private final LeafUpdate leaves;
  private final Set<Integer> dropped = new HashSet<>();
  private final Set<String> renamed = new HashSet<>();

  /**
   * @param update not yet applied to the table
   */
  ColumnUpdate(Table table, KeyedSchema before, UpdateSchema update) {
    this.table = table;
    this.before = before;
    this.update = update;
    this.leaves = new LeafUpdate(before, update);
  }

  void add(ColumnChange change) {
    try {
      if (change instanceof Add add) {
        add(add);
      } else if (change instanceof Drop drop) {
        drop(drop);
      } else if (change instanceof Rename rename) {
        rename(rename);
      } else if (change instanceof Widen widen) {
        widen(widen);
      } else if (change instanceof Comment comment) {
        update.updateColumnDoc(nameOf(found(comment.path())), comment.comment());
      } else if (change instanceof Default value) {
        setDefault(value);
      } else if (change instanceof Move move) {
        move(nameOf(found(move.path())), parent(move.path()), move.position());
      }
    } catch (IllegalArgumentException | ValidationException e) {
      throw refused(change.path(), e);
    }
  }

  /** The columns as they will be. */
  KeyedSchema finish() {
    leaves.dropStates(dropped);
    Schema after = applied();
    Map<String, String> names = new HashMap<>();
    for (NestedField field : before.visible().columns()) {
      NestedField still = after.findField(field.fieldId());
      if (still != null) {
        checkOwnReducer(field, still);
        names.put(field.name(), still.name());
      }
    }
    TableSpec spec = before.spec().renamed(names);
    List<NestedField> visible =
        after.columns().stream().filter(field -> !KeyedSchema.isHidden(field.name())).toList();
    // Its rules are those of a new table.
    new TableDefinition(spec, new Schema(visible, after.identifierFieldIds()), "");
    visible.forEach(this::checkPartitions);
    return KeyedSchema.of(spec, after);
  }

  /** A class of a user was tried with the type that the column has. */
  private void checkOwnReducer(NestedField field, NestedField still) {
    boolean isOther = !field.type().equals(still.type());
    if (isOther && before.spec().reducer(field.name()).isOfUser()) {
      throw new KeylakeException(
          UNSUPPORTED,
          "column '%s' is combined by a class that was tried with %s, and its type stays; add a column of the other type"
              .formatted(field.name(), field.type()));
    }
  }

  private Schema applied() {
    try {
      Schema after = update.apply();
      after.findField(KeyedSchema.MERGE_INFO); // an error where two columns have one name
      return after;
    } catch (IllegalArgumentException | ValidationException e) {
      throw refused(List.of(), e);
    }
  }

  /** Iceberg has the columns of a table and the fields of its partitions in one room of names. */
  private void checkPartitions(NestedField column) {
    for (PartitionSpec spec : table.specs().values()) {
      for (PartitionField field : spec.fields()) {
        boolean isOwn = field.sourceId() == column.fieldId() && field.transform().isIdentity();
        if (field.name().equalsIgnoreCase(column.name()) && !isOwn) {
          throw new KeylakeException(
              DEFINITION,
              "column '%s' would have the name of a partition field of table %s; take another name"
                  .formatted(column.name(), table.name()));
        }
      }
    }
  }

  // ------------------------------------------------------------------------------------- changes

  private void setDefault(Default change) {
    if (change.path().size() > 1) {
      throw new KeylakeException(
          DEFINITION,
          "'%s' is a member of a column, and only whole columns have a default; leave DEFAULT out"
              .formatted(shown(change.path())));
    }
    NestedField there = find(change.path());
    if (there != null) {
      checkValue(there, "given a default", "write its value with each row");
    }
    update.updateColumnDefault(there == null ? last(change.path()) : nameOf(there), change.value());
  }

  private void add(Add add) {
    NestedField parent = parent(add.path());
    String name = last(add.path());
    if (parent != null) {
      String struct = nameOf(parent);
      update.addColumn(struct, name, add.type(), add.comment());
      if (add.position() != null) {
        move(struct + "." + name, parent, add.position());
      }
      return;
    }
    TableDefinition.checkColumnName(name);
    NestedField there = column(name);
    if (there != null && !dropped.contains(there.fieldId())) {
      throw new KeylakeException(
          DEFINITION,
          "table %s has a column '%s' already; take another name".formatted(table.name(), name));
    }
    checkNoGroup(name);
    checkNoExperiment(name);
    update.addColumn(null, name, add.type(), add.comment());
    if (add.position() != null) {
      move(name, null, add.position());
    } else {
      update.moveBefore(name, firstHidden());
    }
    leaves.add(name);
  }

  private String firstHidden() {
    return before.table().columns().stream()
        .map(NestedField::name)
        .filter(KeyedSchema::isHidden)
        .findFirst()
        .orElse(KeyedSchema.MERGE_INFO);
  }

  private void drop(Drop drop) {
    NestedField field = find(drop.path());
    if (field == null && drop.ifExists()) {
      return;
    }
    NestedField column = field == null ? found(drop.path()) : field;
    if (drop.path().size() == 1) {
      checkValue(column, "dropped", "create a new table without it and copy the rows");
      dropped.add(column.fieldId());
      leaves.drop(column, dropped);
    } else {
      NestedField parent = parent(drop.path());
      if (parent != null && parent.type().asStructType().fields().size() == 1) {
        throw new KeylakeException(
            DEFINITION,
            "'%s' is the only member of its struct, and a struct without members cannot be stored; drop the column"
                .formatted(shown(drop.path())));
      }
    }
    update.deleteColumn(nameOf(column));
  }

  private void rename(Rename rename) {
    NestedField field = found(rename.path());
    String name = rename.name();
    if (rename.path().size() == 1) {
      TableDefinition.checkColumnName(name);
      NestedField there = column(name);
      boolean isTaken =
          there != null
              && there.fieldId() != field.fieldId()
              && !dropped.contains(there.fieldId())
              && !renamed.contains(there.name());
      if (there != null && isTaken) {
        throw new KeylakeException(
            DEFINITION,
            "column '%s' cannot get the name '%s', which another column of table %s has; take another name"
                .formatted(field.name(), there.name(), table.name()));
      }
      checkNoExperiment(name);
      renamed.add(field.name());
      boolean isKey = before.spec().key().contains(field.name());
      if (!leaves.isGrouped(field)) {
        checkNoGroup(name);
      }
      if (!isKey) {
        leaves.rename(field, name);
      }
    }
    update.renameColumn(nameOf(field), name);
  }

  /** Columns of experiments are columns of the table, though main does not show them. */
  private void checkNoExperiment(String name) {
    for (Experiment experiment : Experiment.all(table.properties())) {
      for (int id : experiment.added()) {
        NestedField column = table.schema().findField(id);
        if (column != null && column.name().equalsIgnoreCase(name)) {
          throw new KeylakeException(
              DEFINITION,
              "experiment '%s' of table %s has a column '%s' already; take another name"
                  .formatted(experiment.name(), table.name(), column.name()));
        }
      }
    }
  }

  /** Leaves have the names of their columns, or groups. */
  private void checkNoGroup(String name) {
    if (before.spec().columnGroups().containsKey(name)) {
      throw new KeylakeException(
          DEFINITION,
          "'%s' is a column group of table %s, and a column outside it cannot have its name; take another name"
              .formatted(name, table.name()));
    }
  }

  private void widen(Widen widen) {
    NestedField field = found(widen.path());
    if (field.type().equals(widen.type())) {
      return;
    }
    if (widen.path().size() == 1) {
      checkValue(field, "retyped", "create a new table with the type you want and copy the rows");
    }
    if (!WiderSchema.isWider(field.type(), widen.type())) {
      throw new KeylakeException(
          DEFINITION,
          "'%s' cannot become %s: it is %s, and types only widen, int to long, float to double, and a decimal to more digits before the point; add a column of the new type and write the values there"
              .formatted(shown(widen.path()), widen.type(), field.type()));
    }
    update.updateColumn(nameOf(field), widen.type().asPrimitiveType());
    leaves.widen(found(widen.path().subList(0, 1)));
  }

  /**
   * @param parent the struct in which it moves; null for the table
   */
  private void move(String name, @Nullable NestedField parent, Position position) {
    if (position.after() == null) {
      update.moveFirst(name);
      return;
    }
    if (parent != null) {
      update.moveAfter(name, nameOf(parent) + "." + position.after());
      return;
    }
    NestedField neighbour = column(position.after());
    update.moveAfter(name, neighbour == null ? position.after() : neighbour.name());
  }

  /** The key says what a row is, and the ordering column what is new: both are part of each row. */
  private void checkValue(NestedField column, String how, String instead) {
    boolean isKey = before.spec().key().contains(column.name());
    if (isKey || column.name().equals(before.spec().ordering())) {
      throw new KeylakeException(
          DEFINITION,
          "%s column '%s' of table %s cannot be %s; %s"
              .formatted(isKey ? "key" : "ordering", column.name(), table.name(), how, instead));
    }
  }

  // --------------------------------------------------------------------------------------- paths

  private @Nullable NestedField column(String name) {
    Schema visible = before.visible();
    NestedField exact = visible.asStruct().field(name);
    return exact != null ? exact : visible.asStruct().caseInsensitiveField(name);
  }

  private @Nullable NestedField find(List<String> path) {
    NestedField field = column(path.get(0));
    for (String member : path.subList(1, path.size())) {
      field =
          field == null || !field.type().isNestedType()
              ? null
              : field.type().asNestedType().fields().stream()
                  .filter(each -> each.name().equals(member))
                  .findFirst()
                  .orElse(null);
    }
    return field;
  }

  private NestedField found(List<String> path) {
    NestedField field = find(path);
    if (field == null) {
      throw new KeylakeException(
          SCHEMA_MISMATCH,
          "table %s has no column '%s'; its columns are %s"
              .formatted(
                  table.name(),
                  shown(path),
                  before.visible().columns().stream().map(NestedField::name).toList()));
    }
    return field;
  }

  /** The struct of which a path names a member; null where it names a column. */
  private @Nullable NestedField parent(List<String> path) {
    if (path.size() == 1) {
      return null;
    }
    NestedField parent = found(path.subList(0, path.size() - 1));
    if (!parent.type().isStructType()) {
      throw new KeylakeException(
          DEFINITION,
          "'%s' is of type %s, which has no members to add, drop or move; name a struct"
              .formatted(shown(path.subList(0, path.size() - 1)), parent.type()));
    }
    return parent;
  }

  private String nameOf(NestedField field) {
    return before.table().findColumnName(field.fieldId());
  }

  private static String last(List<String> path) {
    return path.get(path.size() - 1);
  }

  private static String shown(List<String> path) {
    return String.join(".", path);
  }

  /** The error for what is left to Iceberg, as one sentence. */
  private KeylakeException refused(List<String> path, RuntimeException e) {
    String what = path.isEmpty() ? "" : " at '" + shown(path) + "'";
    return new KeylakeException(
        DEFINITION,
        "the columns of table %s cannot be changed so%s: %s; change something else"
            .formatted(table.name(), what, e.getMessage()));
  }
}
