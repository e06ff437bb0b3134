package io.keylake.spark.metadata;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.metadata.TableFacts;
import io.keylake.tables.spec.KeyedSchema;
import java.util.EnumSet;
import java.util.Set;
import org.apache.iceberg.Table;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;

/**
 * A table of metadata beside a keyed table, as {@code lake.shop.clicks.keyed_files}. It stands at
 * the snapshot that its table stands at, unless a read says {@code WITH ('branch' = 'x')} or {@code
 * WITH ('snapshot-id' = '17')}.
 *
 * @param snapshotId null for a table without a commit
 */
public record MetadataTable(Table of, KeyedSchema keyed, Long snapshotId, Part part)
    implements SupportsRead {
  public static final String BRANCH = "branch";
  public static final String SNAPSHOT = "snapshot-id";

  @Override
  public String name() {
    return of.name() + "." + part.table();
  }

  @Override
  public Column[] columns() {
    return CatalogV2Util.structTypeToV2Columns(part.type(keyed));
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    StructType type = part.type(keyed);
    TableFacts facts = new TableFacts(of, keyed, snapshot(options));
    return () -> new LocalRows("keylake " + name(), type, () -> part.rows(facts, keyed));
  }

  private @Nullable Long snapshot(CaseInsensitiveStringMap options) {
    String branch = options.get(BRANCH);
    String snapshot = options.get(SNAPSHOT);
    if (branch != null && snapshot != null) {
      throw new KeylakeException(
          UNSUPPORTED,
          "the read options '%s' and '%s' say two moments; give one of them"
              .formatted(BRANCH, SNAPSHOT));
    }
    if (branch != null) {
      return new CommitLog(of, branch).headId();
    }
    return snapshot == null ? snapshotId : there(snapshot);
  }

  private Long there(String said) {
    try {
      long id = Long.parseLong(said.strip());
      CommitRange.of(of, id, id); // it has to be there
      return id;
    } catch (NumberFormatException e) {
      throw new KeylakeException(
          DEFINITION,
          "the read option '%s' is '%s'; it must be the snapshot id of a commit"
              .formatted(SNAPSHOT, said));
    }
  }
}
