package io.keylake.tables.catalogs;

import java.util.List;
import java.util.Optional;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.catalog.TableIdentifier;

/**
 * A catalog that keeps for each table where its newest metadata is. It says so without reading the
 * metadata, and gives several tables other metadata in one step: all of them, or none.
 */
public interface PointerCatalog {
  /** The operations of a table, which need not be there. */
  TableOperations operations(TableIdentifier table);

  /**
   * The location of the newest metadata of a table; empty where there is none of that name. A view
   * may have the name.
   */
  Optional<String> metadataLocation(TableIdentifier table);

  /**
   * Moves tables, in one step. After a failure it is not known whether they have moved, and the
   * same moves can be sent again: a table that has moved is not moved twice.
   *
   * @return false where one of the tables has other metadata than it is moved from; none has moved
   *     then, unless by an earlier try of the same moves
   */
  boolean move(List<MetadataMove> moves);
}
