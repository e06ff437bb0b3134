package io.keylake.spark.engine;

import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;

/** The numbers of dictionary entries by which a decoded column holds its values, if it does. */
public final class EntryNumbers {
  private final WritableColumnVector decoded;

  private EntryNumbers(WritableColumnVector decoded) {
    this.decoded = decoded;
  }

  /**
   * @param decoded a column of {@link RowGroupDecoder}
   */
  public static EntryNumbers of(ColumnVector decoded) {
    return new EntryNumbers((WritableColumnVector) decoded);
  }

  /** Whether the current batch has a dictionary. */
  public boolean exist() {
    return decoded.hasDictionary();
  }

  /** The number of a row whose value is not null, in a batch with a dictionary. */
  public int at(int row) {
    return decoded.getDictionaryIds().getDictId(row);
  }
}
