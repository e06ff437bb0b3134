package io.keylake.spark.read;

import java.util.Arrays;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A stored column of text. Where the file holds it as numbers into a dictionary, an entry becomes
 * text once, not once for every row that has it.
 */
final class TextVector extends ReadOnlyVector {
  private final WritableColumnVector stored;
  private UTF8String[] entries = new UTF8String[0];

  TextVector(WritableColumnVector stored) {
    super(DataTypes.StringType);
    this.stored = stored;
  }

  /** To be called when another row group begins: it has a dictionary of its own. */
  void forgetDictionary() {
    Arrays.fill(entries, null);
  }

  @Override
  public boolean isNullAt(int row) {
    return stored.isNullAt(row);
  }

  @Override
  public boolean hasNull() {
    return stored.hasNull();
  }

  @Override
  public int numNulls() {
    return stored.numNulls();
  }

  @Override
  public UTF8String getUTF8String(int row) {
    if (stored.isNullAt(row)) {
      return null;
    }
    return stored.hasDictionary() ? entry(row) : stored.getUTF8String(row);
  }

  private UTF8String entry(int row) {
    int number = stored.getDictionaryIds().getDictId(row);
    if (number >= entries.length) {
      entries = Arrays.copyOf(entries, Math.max(number + 1, 2 * entries.length));
    }
    UTF8String text = entries[number];
    if (text == null) {
      text = stored.getUTF8String(row);
      entries[number] = text;
    }
    return text;
  }
}
