package io.keylake.plaindeletes.scan;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Readers that apply deletes to what Iceberg's readers give. */
record IndexedReaderFactory(PartitionReaderFactory stock, ReadColumns columns)
    implements PartitionReaderFactory {

  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return stock.supportColumnarReads(((IndexedPartition) partition).stock());
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    IndexedPartition indexed = (IndexedPartition) partition;
    return new LiveBatches(
        stock.createColumnarReader(indexed.stock()), columns, new TaskDeletes(indexed, columns));
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    IndexedPartition indexed = (IndexedPartition) partition;
    return new LiveRows(
        stock.createReader(indexed.stock()), columns, new TaskDeletes(indexed, columns));
  }
}
