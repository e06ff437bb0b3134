package io.keylake.spark.registration;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of a source that are the table's, and those that say something about its rows.
 *
 * <ul>
 *   <li>Hudi's {@code _hoodie_*} are left out.
 *   <li>Paimon's {@code _SEQUENCE_NUMBER} and {@code _VALUE_KIND} say when a row was written, and
 *       whether it was written or deleted; its {@code _KEY_*} hold the key once more.
 * </ul>
 *
 * @param names of all columns of the source
 * @param isChangelog whether the two columns of Paimon are there
 */
record SourceColumns(Set<String> names, boolean isChangelog) {
  static final String SEQUENCE = "_SEQUENCE_NUMBER";
  static final String KIND = "_VALUE_KIND";

  private static final String HUDI = "_hoodie_";
  private static final String KEY = "_KEY_";
  private static final int BEFORE_UPDATE = 1;
  private static final int DELETED = 3;

  static SourceColumns of(StructType schema) {
    Set<String> names = Set.of(schema.fieldNames());
    return new SourceColumns(names, names.contains(SEQUENCE) && names.contains(KIND));
  }

  /** The columns that the keyed table has. */
  StructType kept(StructType schema) {
    return new StructType(fields(schema, name -> isCarried(name) && !isOfRow(name))).asNullable();
  }

  /** The key that the files themselves tell; empty where they tell none. */
  List<String> key(StructType schema) {
    return Arrays.stream(schema.fieldNames())
        .filter(this::isKeyAgain)
        .map(name -> name.substring(KEY.length()))
        .toList();
  }

  /** The rows as a write takes them: what a row was before its update is left out. */
  Dataset<Row> written(Dataset<Row> source) {
    Dataset<Row> rows = source;
    if (isChangelog) {
      Column kind = functions.col(KIND);
      Column op =
          functions
              .when(kind.equalTo(DELETED), "D")
              .when(kind.isin(0, 2), "U")
              .otherwise(kind.cast("string"));
      rows = source.filter(functions.not(kind.eqNullSafe(BEFORE_UPDATE))).withColumn(KIND, op);
    }
    return rows.select(
        Arrays.stream(fields(source.schema(), this::isCarried))
            .map(field -> column(field.name()))
            .toArray(Column[]::new));
  }

  private boolean isCarried(String name) {
    return !name.startsWith(HUDI) && !isKeyAgain(name);
  }

  private boolean isOfRow(String name) {
    return isChangelog && (name.equals(SEQUENCE) || name.equals(KIND));
  }

  private boolean isKeyAgain(String name) {
    return isChangelog && name.startsWith(KEY) && names.contains(name.substring(KEY.length()));
  }

  private static StructField[] fields(StructType schema, Predicate<String> chosen) {
    return Arrays.stream(schema.fields())
        .filter(field -> chosen.test(field.name()))
        .toArray(StructField[]::new);
  }

  static Column column(String name) {
    return functions.col(QuotingUtils.quoteIdentifier(name));
  }
}
