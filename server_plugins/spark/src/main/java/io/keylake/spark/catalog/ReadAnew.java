package io.keylake.spark.catalog;

import io.keylake.spark.engine.ClassicSession;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.jspecify.annotations.Nullable;

/**
 * Makes procedures after which Spark reads anew what it keeps of a table (CACHE TABLE), where the
 * call has changed it: an undo or a publication is a write, too.
 */
public record ReadAnew(KeyedCatalog catalog) {
  /** The same procedure, with that after each of its calls. */
  public UnboundProcedure after(UnboundProcedure procedure) {
    return new AroundProcedure(procedure, this::call);
  }

  private Iterator<Scan> call(BoundProcedure bound, InternalRow input) {
    ClassicSession session = ClassicSession.active();
    String table = session.keepsTables() ? AroundProcedure.text(bound, input, "table") : null;
    if (table == null) {
      return bound.call(input);
    }
    List<String> name = catalog.withoutName(session.nameParts(table));
    String before = state(name);
    try {
      return bound.call(input);
    } finally {
      if (before != null && !before.equals(state(name))) {
        List<String> whole = new ArrayList<>(List.of(catalog.name()));
        whole.addAll(name);
        session.hasChanged(whole);
        String branch = AroundProcedure.text(bound, input, "branch");
        if (branch != null) {
          whole.add("branch_" + branch);
          session.hasChanged(whole);
        }
      }
    }
  }

  /** The metadata file of a table; null where there is none of that name. */
  private @Nullable String state(List<String> name) {
    try {
      TableIdentifier ident = TableIdentifier.of(name.toArray(String[]::new));
      return catalog.icebergCatalog().loadTable(ident) instanceof HasTableOperations table
          ? table.operations().current().metadataFileLocation()
          : null;
    } catch (NoSuchTableException e) {
      return null; // the procedure says so itself
    }
  }
}
