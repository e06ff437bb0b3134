package io.keylake.spark.catalog;

import static io.keylake.tables.KeylakeException.Kind.UNAVAILABLE;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.jspecify.annotations.Nullable;

/**
 * A keyed table of a catalog, or one that cannot be opened: nobody knows whether that is keyed, and
 * it does not stop the others.
 *
 * @param table null where its metadata cannot be read
 * @param spec null where there is a problem
 * @param problem why the table cannot be used, as one sentence
 */
public record ListedTable(
    TableIdentifier name,
    @Nullable Table table,
    @Nullable TableSpec spec,
    @Nullable String problem) {

  /** All of them; one that was dropped meanwhile is none. */
  public static Stream<ListedTable> all(KeyedCatalog catalog) {
    return catalog.tablesBelow().stream().flatMap(name -> listed(catalog, name).stream());
  }

  private static Optional<ListedTable> listed(KeyedCatalog catalog, TableIdentifier name) {
    Table table;
    try {
      table = catalog.icebergCatalog().loadTable(name);
    } catch (NoSuchTableException e) {
      return Optional.empty();
    } catch (RuntimeException e) {
      return Optional.of(new ListedTable(name, null, null, problem(name, e)));
    }
    if (!KeyedSchema.isKeyed(table)) {
      return Optional.empty();
    }
    try {
      return Optional.of(new ListedTable(name, table, KeyedSchema.of(table).spec(), null));
    } catch (RuntimeException e) {
      return Optional.of(new ListedTable(name, table, null, problem(name, e)));
    }
  }

  /** A catalog or store that does not answer says nothing of the table. */
  private static String problem(TableIdentifier name, RuntimeException failure) {
    RuntimeException told = StoreFailure.loading(name.toString(), failure);
    if (told instanceof KeylakeException ours && ours.kind() == UNAVAILABLE) {
      throw ours;
    }
    return told instanceof KeylakeException ours
        ? ours.sentence()
        : "the metadata of %s could not be read: %s".formatted(name, told.getMessage());
  }
}
