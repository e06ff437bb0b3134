package io.keylake.spark.write.sent;

import io.keylake.spark.engine.ClassicSession;
import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;

/**
 * Rows that a client has sent, each chunk a stream of Arrow that the session keeps under its hash.
 * A task reads each chunk:
 *
 * <pre>
 *   client ── chunks ──▶ session ◀── frame: format, schema, option chunks ── tasks
 * </pre>
 *
 * <p>Spark's own frames of a client's rows become objects on the driver, one for each value, which
 * every rule of a plan walks over, and their chunks stay as long as the session.
 */
public final class SentRows implements TableProvider {
  private static final String CHUNKS = "chunks";

  /** The rows of a table are those that a client has sent. */
  public static boolean are(Table table) {
    return table instanceof Sent;
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  /** The client says the schema. */
  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return new StructType();
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    String chunks = new CaseInsensitiveStringMap(properties).getOrDefault(CHUNKS, "");
    return new Sent(schema, List.of(chunks.split(",")));
  }

  /**
   * @param chunks their hashes
   */
  private record Sent(StructType readSchema, List<String> chunks)
      implements Table, SupportsRead, ScanBuilder, Scan, Batch {
    @Override
    public String name() {
      return "rows of a client";
    }

    @Override
    public Column[] columns() {
      return CatalogV2Util.structTypeToV2Columns(readSchema);
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return this;
    }

    @Override
    public Scan build() {
      return this;
    }

    @Override
    public Batch toBatch() {
      return this;
    }

    @Override
    public InputPartition[] planInputPartitions() {
      ClassicSession session = ClassicSession.active();
      return chunks.stream()
          .map(hash -> new Chunk(session.sent(hash)))
          .toArray(InputPartition[]::new);
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return new Readers();
    }
  }

  private record Chunk(byte[] arrow) implements InputPartition {}

  private record Readers() implements PartitionReaderFactory, Serializable {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new Reader(ClassicSession.rows(((Chunk) partition).arrow(), TaskContext.get()));
    }
  }

  private static final class Reader implements PartitionReader<InternalRow> {
    private final Iterator<InternalRow> rows;
    private @Nullable InternalRow row;

    private Reader(Iterator<InternalRow> rows) {
      this.rows = rows;
    }

    @Override
    public boolean next() {
      row = rows.hasNext() ? rows.next() : null;
      return row != null;
    }

    @Override
    public InternalRow get() {
      return Objects.requireNonNull(row, "next() has found one");
    }

    @Override
    public void close() {
      // the end of the task lets go of what rows take
    }
  }
}
