package io.keylake.spark.catalog;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.spark.engine.SessionSettings;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.indexes.ValueIndexes;
import io.keylake.tables.lateness.Lateness;
import io.keylake.tables.spec.SpecProperties;
import io.keylake.tables.spec.SpecProperties.Clauses;
import io.keylake.tables.spec.TableDefinition;
import io.keylake.tables.spec.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.iceberg.Schema;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.connector.catalog.constraints.PrimaryKey;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.jspecify.annotations.Nullable;

/**
 * A keyed table as a CREATE TABLE statement defines it, with the clauses of Spark's own grammar:
 *
 * <pre>
 * CREATE TABLE t (..., PRIMARY KEY (user_id, day)) USING keylake
 * PARTITIONED BY (day) CLUSTERED BY (user_id) INTO 64 BUCKETS
 * TBLPROPERTIES ('ordering' = 'event_time', 'reduce.clicks' = 'LatestNotNull')
 * </pre>
 *
 * Spark takes no constraints where the columns come from a query; there the key is a property:
 *
 * <pre>
 * CREATE TABLE t USING keylake TBLPROPERTIES ('key' = 'user_id, day') AS SELECT ...
 * </pre>
 */
public final class SqlDefinition {
  /** The word after USING. */
  public static final String PROVIDER = "keylake";

  /** The words that are no properties in SQL, each with the clause that says the same. */
  private static final Map<String, String> CLAUSES =
      Map.of(
          "buckets", "CLUSTERED BY (column, ...) INTO n BUCKETS",
          "bucket_by", "CLUSTERED BY (column, ...) INTO n BUCKETS",
          "partition_by", "PARTITIONED BY (column, ...)",
          "reducers", "the property 'reduce.<column>'",
          "column_groups", "the property 'column_group.<name>' = 'column, ...'");

  private SqlDefinition() {}

  /** A statement that creates a table asks for a keyed one in these words. */
  private static boolean isOne(TableInfo info) {
    return PROVIDER.equalsIgnoreCase(info.properties().get(TableCatalog.PROP_PROVIDER));
  }

  /** Refuses what nothing would keep to in a table that is no keyed table. */
  private static void checkPlain(TableInfo info) {
    for (Constraint constraint : info.constraints()) {
      throw new KeylakeException(
          DEFINITION,
          (constraint instanceof PrimaryKey
                  ? "%s is for keyed tables; write USING keylake, or leave the constraint out"
                  : "%s would be checked by no table; leave the constraint out")
              .formatted(constraint.toDDL()));
    }
    for (Column column : info.columns()) {
      if (column.defaultValue() != null) {
        throw new KeylakeException(
            DEFINITION,
            "the default of column '%s' is for keyed tables; write USING keylake, or leave DEFAULT out"
                .formatted(column.name()));
      }
    }
  }

  /**
   * The definition of the keyed table that a statement defines; null for one that makes a plain
   * table.
   */
  public static @Nullable TableDefinition of(TableInfo info) {
    KeyedProperties.checkCreated(info.properties(), isOne(info));
    TableDefinition definition = isOne(info) ? ofClauses(info) : ofProperty(info);
    if (definition != null) {
      ValueIndexes.check(info.properties(), definition.spec(), definition.columns());
      Lateness.check(info.properties(), definition.spec(), definition.columns());
    }
    return definition;
  }

  private static @Nullable TableDefinition ofProperty(TableInfo info) {
    checkPlain(info);
    String spec = info.properties().get(TableSpec.PROPERTY);
    if (spec == null) {
      return null;
    }
    if (info.partitions().length > 0) {
      throw new KeylakeException(
          DEFINITION,
          "a keyed table is partitioned by its spec (buckets, bucket_by, partition_by); drop PARTITIONED BY");
    }
    return new TableDefinition(TableSpec.fromJson(spec), schema(info), "");
  }

  private static Schema schema(TableInfo info) {
    Collations.check(info);
    return DefaultValues.of(SparkSchemaUtil.convert(info.schema()), info.columns());
  }

  private static TableDefinition ofClauses(TableInfo info) {
    Map<String, String> given = info.properties();
    if (given.containsKey(TableSpec.PROPERTY)) {
      throw new KeylakeException(
          DEFINITION,
          "USING keylake takes the definition from clauses, and property '%s' has it as JSON; leave one of them out"
              .formatted(TableSpec.PROPERTY));
    }
    given.keySet().forEach(SqlDefinition::checkWord);
    List<String> key = key(info.constraints(), SpecProperties.key(given));
    Schema columns = schema(info);
    return new TableDefinition(
        SpecProperties.read(clauses(key, info.partitions()), given, name -> written(columns, name)),
        columns,
        given.getOrDefault(TableCatalog.PROP_COMMENT, ""));
  }

  /** The name of a column as it is written in a table, for one that the session takes for it. */
  static String written(Schema columns, String name) {
    NestedField field = columns.asStruct().field(name);
    if (field == null && !SessionSettings.isCaseSensitive()) {
      field = columns.asStruct().caseInsensitiveField(name);
    }
    return field == null ? name : field.name();
  }

  /** The properties that a table keeps: the words of its spec have a property of their own. */
  public static Map<String, String> kept(Map<String, String> given) {
    Map<String, String> kept = new HashMap<>(given);
    kept.keySet().removeIf(SpecProperties::isWord);
    kept.remove(TableCatalog.PROP_PROVIDER);
    return kept;
  }

  private static void checkWord(String property) {
    String lower = property.toLowerCase(Locale.ROOT);
    String clause = CLAUSES.get(lower);
    if (clause != null) {
      throw new KeylakeException(
          DEFINITION, "'%s' is not a property in SQL; write %s".formatted(property, clause));
    }
  }

  private static List<String> key(Constraint[] constraints, List<String> named) {
    List<String> key = named;
    for (Constraint each : constraints) {
      if (!(each instanceof PrimaryKey primary)) {
        throw new KeylakeException(
            DEFINITION,
            "constraint %s is not checked by keyed tables; leave it out, and check rows where they are published"
                .formatted(each.toDDL()));
      }
      if (!named.isEmpty()) {
        throw new KeylakeException(
            DEFINITION,
            "the key is said twice, by %s and by the property 'key'; leave one of them out"
                .formatted(each.toDDL()));
      }
      key = Arrays.stream(primary.columns()).map(SqlDefinition::column).toList();
    }
    if (key.isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "a keyed table needs a key; write PRIMARY KEY (column, ...) behind the columns, or set the property 'key' = 'column, ...' where they come from a query");
    }
    return key;
  }

  private static Clauses clauses(List<String> key, Transform[] partitions) {
    List<String> partitionBy = new ArrayList<>();
    List<String> bucketBy = new ArrayList<>();
    @Nullable Integer buckets = null;
    for (Transform each : partitions) {
      switch (each.name()) {
        case "identity" -> partitionBy.add(column(each.references()[0]));
        case "bucket" -> {
          bucketBy.addAll(Arrays.stream(each.references()).map(SqlDefinition::column).toList());
          buckets = (Integer) ((Literal<?>) each.arguments()[0]).value();
        }
        default -> throw notAPartition(each);
      }
    }
    return new Clauses(key, buckets, bucketBy, partitionBy);
  }

  private static KeylakeException notAPartition(Transform transform) {
    return new KeylakeException(
        DEFINITION,
        "%s cannot partition a keyed table; write PARTITIONED BY with columns of the key, and CLUSTERED BY (column, ...) INTO n BUCKETS without SORTED BY"
            .formatted(transform.describe()));
  }

  private static String column(NamedReference reference) {
    String[] parts = reference.fieldNames();
    if (parts.length != 1) {
      throw new KeylakeException(
          DEFINITION,
          "%s is a part of a column; the key, buckets and partitions take whole columns"
              .formatted(String.join(".", Stream.of(parts).toList())));
    }
    return parts[0];
  }
}
