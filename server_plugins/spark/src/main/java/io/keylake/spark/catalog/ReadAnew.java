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
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
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
    String table = session.keepsTables() ? text(bound, input, "table") : null;
    if (table == null) {
      return bound.call(input);
    }
    List<String> parts = session.nameParts(table);
    boolean hasCatalog = parts.size() > 2 && parts.get(0).equals(catalog.name());
    List<String> name = hasCatalog ? parts.subList(1, parts.size()) : parts;
    String before = state(name);
    try {
      return bound.call(input);
    } finally {
      if (before != null && !before.equals(state(name))) {
        List<String> whole = new ArrayList<>(List.of(catalog.name()));
        whole.addAll(name);
        session.hasChanged(whole);
        String branch = text(bound, input, "branch");
        if (branch != null) {
          whole.add("branch_" + branch);
          session.hasChanged(whole);
        }
      }
    }
  }

  private static @Nullable String text(BoundProcedure bound, InternalRow input, String name) {
    ProcedureParameter[] parameters = bound.parameters();
    for (int i = 0; i < parameters.length; i++) {
      if (parameters[i].name().equals(name)) {
        return input.isNullAt(i) ? null : input.getUTF8String(i).toString();
      }
    }
    return null;
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
