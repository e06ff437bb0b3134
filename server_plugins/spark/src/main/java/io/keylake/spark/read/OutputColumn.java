package io.keylake.spark.read;

import java.io.Serializable;
import org.apache.spark.sql.types.DataType;

/**
 * One column of a scan's output.
 *
 * @param fieldId of the stored column, for {@link Source#KEY} and {@link Source#VALUE}
 * @param type as Spark sees it
 * @param isUuid stored as 16 bytes, shown as text
 */
record OutputColumn(Source source, int fieldId, DataType type, boolean isUuid)
    implements Serializable {
  enum Source {
    KEY,
    VALUE,
    MERGE_INFO,
    BUCKET
  }
}
