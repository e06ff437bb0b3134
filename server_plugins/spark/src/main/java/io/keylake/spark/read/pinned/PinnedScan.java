package io.keylake.spark.read.pinned;

import java.util.Collection;
import java.util.concurrent.ExecutorService;
import java.util.function.Supplier;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.ScanTask;
import org.apache.iceberg.ScanTaskGroup;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.metrics.MetricsReporter;

/** Iceberg's scan, but for the files, which come from a plan. */
record PinnedScan(BatchScan scan, FilePlan plan) implements BatchScan {

  private PinnedScan with(BatchScan refined) {
    return new PinnedScan(refined, plan);
  }

  @Override
  public CloseableIterable<ScanTask> planFiles() {
    return plan.of(scan);
  }

  @Override
  public CloseableIterable<ScanTaskGroup<ScanTask>> planTasks() {
    throw new UnsupportedOperationException("Spark's scans combine their files themselves");
  }

  @Override
  public BatchScan option(String property, String value) {
    return with(scan.option(property, value));
  }

  @Override
  public BatchScan project(Schema schema) {
    return with(scan.project(schema));
  }

  @Override
  public BatchScan caseSensitive(boolean isCaseSensitive) {
    return with(scan.caseSensitive(isCaseSensitive));
  }

  @Override
  public boolean isCaseSensitive() {
    return scan.isCaseSensitive();
  }

  @Override
  public BatchScan includeColumnStats() {
    return with(scan.includeColumnStats());
  }

  @Override
  public BatchScan includeColumnStats(Collection<String> columns) {
    return with(scan.includeColumnStats(columns));
  }

  @Override
  public BatchScan select(Collection<String> columns) {
    return with(scan.select(columns));
  }

  @Override
  public BatchScan filter(Expression filter) {
    return with(scan.filter(filter));
  }

  @Override
  public Expression filter() {
    return scan.filter();
  }

  @Override
  public BatchScan ignoreResiduals() {
    return with(scan.ignoreResiduals());
  }

  @Override
  public BatchScan planWith(ExecutorService executor) {
    return with(scan.planWith(executor));
  }

  @Override
  public BatchScan metricsReporter(MetricsReporter reporter) {
    return with(scan.metricsReporter(reporter));
  }

  @Override
  public BatchScan minRowsRequested(long rows) {
    return with(scan.minRowsRequested(rows));
  }

  @Override
  public BatchScan useSnapshot(long snapshotId) {
    return with(scan.useSnapshot(snapshotId));
  }

  @Override
  public BatchScan useRef(String ref) {
    return with(scan.useRef(ref));
  }

  @Override
  public BatchScan asOfTime(long timestampMillis) {
    return with(scan.asOfTime(timestampMillis));
  }

  @Override
  public Schema schema() {
    return scan.schema();
  }

  @Override
  public Table table() {
    return scan.table();
  }

  @Override
  public Snapshot snapshot() {
    return scan.snapshot();
  }

  @Override
  public long targetSplitSize() {
    return scan.targetSplitSize();
  }

  @Override
  public int splitLookback() {
    return scan.splitLookback();
  }

  @Override
  public long splitOpenFileCost() {
    return scan.splitOpenFileCost();
  }

  @Override
  public Supplier<FileIO> fileIO() {
    return scan.fileIO();
  }
}
