package io.keylake.plaindeletes.scan;

import io.keylake.spark.read.pinned.PinnedScans;
import org.apache.iceberg.spark.source.SparkScanBuilder;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * An UPDATE, DELETE or MERGE of Iceberg that rewrites files: it reads their rows by an index, and
 * writes and checks for conflicts as Iceberg does.
 */
class IndexedOperation implements RowLevelOperation {
  private final RowLevelOperation stock;
  private final PinnedScans planned;

  private IndexedOperation(RowLevelOperation stock, PinnedScans planned) {
    this.stock = stock;
    this.planned = planned;
  }

  static RowLevelOperation of(PinnedScans planned, RowLevelOperationInfo info) {
    RowLevelOperation stock = planned.table().newRowLevelOperationBuilder(info).build();
    return stock instanceof SupportsDelta delta
        ? new OfPositions(delta, planned)
        : new IndexedOperation(stock, planned);
  }

  @Override
  public Command command() {
    return stock.command();
  }

  @Override
  public String description() {
    return stock.description();
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return scanBuilder(options, SparkScanBuilder::buildCopyOnWriteScan);
  }

  final ScanBuilder scanBuilder(CaseInsensitiveStringMap options, IndexedScanBuilder.Kind kind) {
    // The write asks the scan that this builder makes which files it replaces.
    SparkScanBuilder first = (SparkScanBuilder) stock.newScanBuilder(options);
    return new IndexedScanBuilder(planned, options, first, kind);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return stock.newWriteBuilder(info);
  }

  @Override
  public NamedReference[] requiredMetadataAttributes() {
    return stock.requiredMetadataAttributes();
  }

  /** One that writes positions or deletion vectors. */
  private static final class OfPositions extends IndexedOperation implements SupportsDelta {
    private final SupportsDelta stock;

    OfPositions(SupportsDelta stock, PinnedScans planned) {
      super(stock, planned);
      this.stock = stock;
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return scanBuilder(options, SparkScanBuilder::build);
    }

    @Override
    public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      return stock.newWriteBuilder(info);
    }

    @Override
    public NamedReference[] rowId() {
      return stock.rowId();
    }

    @Override
    public boolean representUpdateAsDeleteAndInsert() {
      return stock.representUpdateAsDeleteAndInsert();
    }
  }
}
