package io.keylake.spark.check;

import io.keylake.spark.integrity.CheckedVector;
import io.keylake.tables.FileDamage;
import io.keylake.tables.check.Finding;
import io.keylake.tables.check.Finding.Kind;
import io.keylake.tables.check.NeededFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.puffin.BlobMetadata;
import org.apache.iceberg.puffin.Puffin;
import org.apache.iceberg.puffin.PuffinReader;
import org.apache.iceberg.util.Pair;

/** The check of a deletion vector, or of a file of statistics: both are blobs in a Puffin file. */
final class PuffinCheck {
  private static final String CARDINALITY = "cardinality";

  private final FileIO io;
  private final NeededFile file;
  private final Level level;
  private final List<Finding> findings = new ArrayList<>();

  PuffinCheck(FileIO io, NeededFile file, Level level) {
    this.io = io;
    this.file = file;
    this.level = level;
  }

  List<Finding> findings() {
    try (PuffinReader reader =
        Puffin.read(io.newInputFile(file.location(), file.bytes()))
            .withFileSize(file.bytes())
            .build()) {
      Long begin = file.begin();
      if (begin != null) {
        checkVector(reader, begin, String.valueOf(file.referenced()));
      } else if (level == Level.PAGES) {
        reader.readAll(reader.fileMetadata().blobs()).forEach(blob -> {});
      }
    } catch (IOException | RuntimeException e) {
      findings.add(Finding.unread(io, Kind.FOOTER, file.location(), e));
    }
    return findings;
  }

  private void add(Kind kind, String detail) {
    findings.add(Finding.of(kind, file.location(), detail));
  }

  private void checkVector(PuffinReader reader, long begin, String dataFile) throws IOException {
    BlobMetadata blob;
    try {
      blob = CheckedVector.in(reader, begin, dataFile);
    } catch (FileDamage e) {
      add(Kind.OTHER_FILE, String.valueOf(e.getMessage()));
      return;
    }
    String rows = blob.properties().get(CARDINALITY);
    if (rows != null && !rows.equals(String.valueOf(file.rows()))) {
      add(
          Kind.COUNTS,
          "its deletion vector has %s rows, its manifest says %d".formatted(rows, file.rows()));
    } else if (level == Level.PAGES) {
      for (Pair<BlobMetadata, ByteBuffer> each : reader.readAll(List.of(blob))) {
        checkSum(each.second());
      }
    }
  }

  /** A vector is its length, as many bytes, and their CRC-32; the highest byte is the first. */
  private void checkSum(ByteBuffer vector) {
    int bytes = vector.remaining() < 2 * Integer.BYTES ? -1 : vector.getInt();
    if (bytes != vector.remaining() - Integer.BYTES) {
      add(Kind.CHECKSUM, "its deletion vector has another length than it says");
      return;
    }
    CRC32 crc = new CRC32();
    crc.update(vector.slice().limit(bytes));
    if ((int) crc.getValue() != vector.getInt(vector.position() + bytes)) {
      add(Kind.CHECKSUM, "its deletion vector does not fit its checksum");
    }
  }
}
