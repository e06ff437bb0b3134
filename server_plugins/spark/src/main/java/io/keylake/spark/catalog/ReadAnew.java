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
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * A procedure after which Spark reads anew what it keeps of a table (CACHE TABLE), where the call
 * has changed it: an undo or a publication is a write, too.
 */
public record ReadAnew(KeyedCatalog catalog, UnboundProcedure unbound) implements UnboundProcedure {
  @Override
  public String name() {
    return unbound.name();
  }

  @Override
  public String description() {
    return unbound.description();
  }

  @Override
  public BoundProcedure bind(StructType inputType) {
    return new Bound(catalog, unbound.bind(inputType));
  }

  private record Bound(KeyedCatalog catalog, BoundProcedure bound) implements BoundProcedure {
    @Override
    public String name() {
      return bound.name();
    }

    @Override
    public String description() {
      return bound.description();
    }

    @Override
    public ProcedureParameter[] parameters() {
      return bound.parameters();
    }

    @Override
    public boolean isDeterministic() {
      return bound.isDeterministic();
    }

    @Override
    public Iterator<Scan> call(InternalRow input) {
      ClassicSession session = ClassicSession.active();
      String table = session.keepsTables() ? text(input, "table") : null;
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
          String branch = text(input, "branch");
          if (branch != null) {
            whole.add("branch_" + branch);
            session.hasChanged(whole);
          }
        }
      }
    }

    private @Nullable String text(InternalRow input, String name) {
      for (int i = 0; i < parameters().length; i++) {
        if (parameters()[i].name().equals(name)) {
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
}
