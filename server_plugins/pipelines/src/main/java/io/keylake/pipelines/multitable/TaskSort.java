package io.keylake.pipelines.multitable;

import io.keylake.spark.engine.CountedMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.RowOrdering;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeExternalRowSorter;
import org.apache.spark.sql.execution.UnsafeExternalRowSorter.PrefixComputer;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.collection.unsafe.sort.PrefixComparators;
import scala.jdk.javaapi.CollectionConverters;

/** Sorts the rows of a task, in memory that Spark counts and on the local disk beyond that. */
final class TaskSort {
  private TaskSort() {}

  /**
   * @param rows of Spark's binary form; the sorter copies them
   * @param type of the rows, which begins with an int that is never null
   * @param columns so many of the first decide
   */
  static Iterator<InternalRow> sorted(Iterator<InternalRow> rows, StructType type, int columns) {
    List<DataType> by =
        Arrays.stream(type.fields()).limit(columns).map(StructField::dataType).toList();
    try {
      UnsafeExternalRowSorter sorter =
          UnsafeExternalRowSorter.create(
              type,
              RowOrdering.createNaturalAscendingOrdering(CollectionConverters.asScala(by).toSeq()),
              PrefixComparators.LONG,
              new FirstColumn(),
              CountedMemory.pageBytes(),
              /* canUseRadixSort= */ false);
      while (rows.hasNext()) {
        sorter.insertRow((UnsafeRow) rows.next());
      }
      return CollectionConverters.asJava(sorter.sort());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static final class FirstColumn extends PrefixComputer {
    private final Prefix prefix = new Prefix();

    @Override
    public Prefix computePrefix(InternalRow row) {
      prefix.value = row.getInt(0);
      return prefix;
    }
  }
}
