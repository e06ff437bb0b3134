package io.keylake.pipelines.kafka;

import io.keylake.pipelines.messages.Change;
import io.keylake.pipelines.messages.MessageFormat;
import io.keylake.pipelines.messages.MessageReader;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/**
 * The changes of rows that a message is. A task has a reader of its own, which remembers what it
 * has told of the columns of tables: the function is not deterministic.
 */
final class MessageChanges implements ScalarFunction<Object> {
  static final String NAME = "keylake_message_changes";

  private static final long serialVersionUID = 1L;
  private static final DataType[] INPUTS = {
    DataTypes.StringType, // topic
    DataTypes.LongType, // offset
    DataTypes.TimestampType, // when it was sent
    DataTypes.BinaryType, // key
    DataTypes.BinaryType // value
  };
  private static final int KEY = 3;
  private static final int VALUE = 4;
  private static final StructType CHANGE =
      new StructType()
          .add("table", DataTypes.StringType)
          .add("op", DataTypes.StringType)
          .add("row", DataTypes.StringType)
          .add("version", DataTypes.LongType)
          .add("at", DataTypes.TimestampType)
          .add("error", DataTypes.StringType)
          .add("found", DataTypes.StringType);

  private final String format;
  private transient @Nullable MessageReader reader;

  /**
   * @param format as JSON, which has been checked
   */
  MessageChanges(String format) {
    this.format = format;
  }

  @Override
  public DataType[] inputTypes() {
    return INPUTS.clone();
  }

  @Override
  public DataType resultType() {
    return DataTypes.createArrayType(CHANGE, false);
  }

  @Override
  public boolean isResultNullable() {
    return false;
  }

  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public String canonicalName() {
    return "keylake." + NAME + " " + format;
  }

  @Override
  public Object produceResult(InternalRow message) {
    if (reader == null) {
      reader = new MessageReader(MessageFormat.fromJson(format));
    }
    List<Change> changes =
        reader.read(
            message.getUTF8String(0).toString(),
            message.getLong(1),
            message.isNullAt(2) ? 0 : message.getLong(2),
            message.isNullAt(KEY) ? null : message.getBinary(KEY),
            message.isNullAt(VALUE) ? null : message.getBinary(VALUE));
    Object[] rows = new Object[changes.size()];
    for (int i = 0; i < rows.length; i++) {
      Change change = changes.get(i);
      rows[i] =
          new GenericInternalRow(
              new @Nullable Object[] {
                text(change.table()),
                text(change.op()),
                UTF8String.fromBytes(change.row()),
                change.version(),
                change.at(),
                text(change.error()),
                text(change.found())
              });
    }
    return new GenericArrayData(rows);
  }

  private static @Nullable UTF8String text(@Nullable String text) {
    return text == null ? null : UTF8String.fromString(text);
  }
}
