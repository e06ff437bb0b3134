package io.keylake.spark.vectors;

import io.keylake.spark.engine.RowGroupDecoder.EntryNumbers;
import java.util.Arrays;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/**
 * A stored column of text. Where the file holds it as numbers into a dictionary, an entry becomes
 * text once, not once for every row that has it; and where rows are copied, the entries lie close
 * together, since rows want them in any order.
 */
public final class TextVector extends ReadOnlyVector {
  static final int NOT_COPIED = -1;

  private final ColumnVector stored;
  private final EntryNumbers numbers;
  private UTF8String[] entries = new UTF8String[0];
  private int[] begins = {};
  private int[] lengths = {}; // 0 where the entry is not known, or is no text at all
  private byte[] bytes = {};
  private int end;

  /**
   * @param stored as the decoder of the file fills it
   */
  public TextVector(ColumnVector stored) {
    super(DataTypes.StringType);
    this.stored = stored;
    this.numbers = EntryNumbers.of(stored);
  }

  /** To be called when another row group begins: it has a dictionary of its own. */
  public void forgetDictionary() {
    Arrays.fill(entries, null);
    Arrays.fill(lengths, 0);
    end = 0;
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
  public @Nullable UTF8String getUTF8String(int row) {
    if (stored.isNullAt(row)) {
      return null;
    }
    return numbers.exist() ? entry(row) : stored.getUTF8String(row);
  }

  private UTF8String entry(int row) {
    int number = numbers.at(row);
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

  /**
   * Copies the text of a row that has one, out of a dictionary.
   *
   * @param into has room for the longest text that is copied
   * @return its bytes, or {@link #NOT_COPIED} where there are more of them than may be, or where it
   *     is in no dictionary
   */
  int copy(int row, byte[] into, int at, int most) {
    if (!numbers.exist()) {
      return NOT_COPIED;
    }
    int number = numbers.at(row);
    if (number >= lengths.length || lengths[number] == 0) {
      keep(number, stored.getUTF8String(row).getBytes(), most);
    }
    int length = lengths[number];
    if (length > most) {
      return NOT_COPIED;
    }
    System.arraycopy(bytes, begins[number], into, at, length);
    return length;
  }

  private void keep(int number, byte[] text, int most) {
    if (number >= lengths.length) {
      lengths = Arrays.copyOf(lengths, Math.max(number + 1, 2 * lengths.length));
      begins = Arrays.copyOf(begins, lengths.length);
    }
    lengths[number] = text.length;
    if (text.length <= most) {
      if (end + text.length > bytes.length) {
        bytes = Arrays.copyOf(bytes, 2 * (end + text.length));
      }
      System.arraycopy(text, 0, bytes, end, text.length);
      begins[number] = end;
      end += text.length;
    }
  }
}
