package io.keylake.pipelines.multitable;

import io.keylake.spark.engine.Shuffles;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows of all tables in one form, in which they move to their tasks and are sorted there.
 *
 * <pre>
 *   table     the number of the table among those of the write; -1 for one that is none of them
 *   place     partition, bucket and key as bytes in order; empty for a row that was refused.
 *             They are kept as text is, which a sort compares where it lies and copies nowhere
 *   version
 *   row       in Spark's binary form, with the columns of its table; null for a row that was refused
 *   failure   why the row was refused
 *   task      where it goes
 * </pre>
 */
final class MovedRows {
  static final StructType TYPE =
      new StructType()
          .add("table", DataTypes.IntegerType, false)
          .add("place", DataTypes.StringType, false)
          .add("version", DataTypes.LongType, false)
          .add("row", DataTypes.BinaryType)
          .add("failure", DataTypes.StringType)
          .add("task", DataTypes.IntegerType, false);

  /** The table, the place and the version. */
  static final int COLUMNS_IN_ORDER = 3;

  /** The order of these columns, as Spark sorts them. */
  static final Comparator<InternalRow> ORDER =
      Comparator.comparingInt(MovedRows::table)
          .thenComparing((a, b) -> place(a).binaryCompare(place(b)))
          .thenComparingLong(row -> row.getLong(MovedRows.VERSION));

  static final int UNLISTED = -1;

  private static final int TABLE = 0;
  private static final int PLACE = 1;
  private static final int VERSION = 2;
  private static final int ROW = 3;
  private static final int FAILURE = 4;
  private static final int TASK = 5;

  private final UnsafeRowWriter writer = new UnsafeRowWriter(TYPE.size());

  /** A row on its way; valid until the next. */
  InternalRow row(int table, byte[] place, long version, UnsafeRow row, int task) {
    begin(table, UTF8String.fromBytes(place), version, task);
    writer.write(ROW, row.getBytes());
    writer.setNullAt(FAILURE);
    return writer.getRow();
  }

  /** A row with the reason why a row was refused, so that it comes before the rows of its table. */
  InternalRow refused(int table, long version, String failure, int task) {
    return refused(table, UTF8String.EMPTY_UTF8, version, failure, task);
  }

  /** A row that says that there are rows of a table that the write does not know. */
  InternalRow unlisted(String name, String failure) {
    return refused(UNLISTED, UTF8String.fromString(name), 0, failure, 0);
  }

  private InternalRow refused(int table, UTF8String place, long version, String failure, int task) {
    begin(table, place, version, task);
    writer.setNullAt(ROW);
    writer.write(FAILURE, UTF8String.fromString(failure));
    return writer.getRow();
  }

  private void begin(int table, UTF8String place, long version, int task) {
    writer.reset();
    writer.zeroOutNullBytes();
    writer.write(TABLE, table);
    writer.write(PLACE, place);
    writer.write(VERSION, version);
    writer.write(TASK, task);
  }

  static int table(InternalRow row) {
    return row.getInt(TABLE);
  }

  /** The name of a table that the write does not know. */
  static String name(InternalRow row) {
    return place(row).toString();
  }

  private static UTF8String place(InternalRow row) {
    return row.getUTF8String(PLACE);
  }

  /** The reason why a row was refused; null for one that was not. */
  static @Nullable String failure(InternalRow row) {
    return row.isNullAt(FAILURE) ? null : row.getUTF8String(FAILURE).toString();
  }

  /** Points at the row of the table. */
  static void unpack(InternalRow row, UnsafeRow into) {
    byte[] bytes = row.getBinary(ROW);
    into.pointTo(bytes, bytes.length);
  }

  /** The rows in their tasks. */
  static RDD<InternalRow> moved(RDD<InternalRow> rows, int tasks) {
    List<Attribute> columns =
        List.copyOf(CollectionConverters.asJava(DataTypeUtils.toAttributes(TYPE)));
    Seq<Attribute> all = CollectionConverters.asScala(columns).toSeq();
    return Shuffles.ofTasks(rows, all, columns.get(TASK), tasks);
  }
}
