package io.keylake.tables.manifests;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFile.PartitionFieldSummary;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;

/**
 * The manifests of a table's newest partition spec, by the buckets of the files that they name. A
 * commit adds a small one, of all buckets; a plan of one bucket opens those of all commits. Written
 * again, they are of few buckets each:
 *
 * <pre>
 *   64 buckets   commits        [0 .. 63] [0 .. 63] ...     {@link #MANY} of them become one
 *                of 1000 files  [0 .. 63] [0 .. 63] ...     from {@link #WORTH} files on they are divided
 *                               [0 .. 7] [8 .. 15] ...      and these once more, with others like them,
 *                               [0 .. 1] [2 .. 3] ...       where each part has {@link #NARROWER} times fewer buckets
 * </pre>
 *
 * So each file is named anew a few times only, however many commits come.
 */
public final class ManifestLayout {
  /** The files that a manifest shall have. */
  static final int ENOUGH = 1000;

  /** A manifest with fewer files is small. */
  private static final int FEW = ENOUGH / 2;

  /** The number of small manifests from which on it is worth it. */
  static final int MANY = 50;

  /** The number of files whose manifests are divided. */
  static final int WORTH = 8 * ENOUGH;

  private static final int NARROWER = 4;

  private final List<Piece> pieces;
  private final int buckets;

  /**
   * A manifest.
   *
   * @param first bucket of its files
   * @param last bucket of its files
   */
  record Piece(String path, long files, int first, int last) {
    int width() {
      return last - first + 1;
    }
  }

  /**
   * Manifests to be written again.
   *
   * @param parts into which their buckets are divided
   */
  public record Rewrite(Set<String> manifests, int buckets, int parts) {
    /** The part of a bucket; files of a commit that came meanwhile may have later buckets. */
    public int part(int bucket) {
      return (int) ((long) Math.min(bucket, buckets - 1) * parts / buckets);
    }
  }

  ManifestLayout(List<Piece> pieces) {
    this.pieces = List.copyOf(pieces);
    this.buckets = pieces.stream().mapToInt(piece -> piece.last + 1).max().orElse(1);
  }

  /**
   * The layout of some manifests.
   *
   * @param manifests of a snapshot
   */
  public static ManifestLayout of(Table table, List<ManifestFile> manifests) {
    PartitionSpec spec = table.spec();
    List<Piece> pieces = new ArrayList<>();
    for (ManifestFile manifest : manifests) {
      if (manifest.partitionSpecId() == spec.specId()) {
        piece(manifest).ifPresent(pieces::add);
      }
    }
    return new ManifestLayout(pieces);
  }

  /** The bucket is the last field of a partition. */
  private static Optional<Piece> piece(ManifestFile manifest) {
    List<PartitionFieldSummary> fields = manifest.partitions();
    Integer added = manifest.addedFilesCount();
    Integer existing = manifest.existingFilesCount();
    if (fields == null || fields.isEmpty() || added == null || existing == null) {
      return Optional.empty();
    }
    PartitionFieldSummary bucket = fields.get(fields.size() - 1);
    ByteBuffer lower = bucket.lowerBound();
    ByteBuffer upper = bucket.upperBound();
    return lower == null || upper == null
        ? Optional.empty()
        : Optional.of(
            new Piece(manifest.path(), (long) added + existing, number(lower), number(upper)));
  }

  private static int number(ByteBuffer bytes) {
    Integer number = Conversions.fromByteBuffer(Types.IntegerType.get(), bytes);
    return number;
  }

  /** The number of manifests with few files, as commits leave them. */
  public int small() {
    return smallPieces().size();
  }

  private List<Piece> smallPieces() {
    return pieces.stream().filter(piece -> piece.files < FEW).toList();
  }

  /** The manifests that it is worth to write again, if there are such. */
  public Optional<Rewrite> due() {
    List<Piece> small = smallPieces();
    if (small.size() >= MANY) {
      return Optional.of(rewrite(small));
    }
    List<Piece> wide = wide(pieces.stream().filter(piece -> piece.files >= FEW).toList());
    return files(wide) < WORTH ? Optional.empty() : Optional.of(rewrite(wide));
  }

  private Rewrite rewrite(List<Piece> chosen) {
    Set<String> paths = chosen.stream().map(Piece::path).collect(Collectors.toUnmodifiableSet());
    return new Rewrite(paths, buckets, parts(files(chosen)));
  }

  /** The manifests of many more buckets than the parts would have that are made of them. */
  private List<Piece> wide(List<Piece> of) {
    int widest = widthOf(parts(files(of))) * NARROWER;
    List<Piece> wide = of.stream().filter(piece -> piece.width() >= widest).toList();
    return wide.size() == of.size() ? of : wide(wide);
  }

  private static long files(List<Piece> pieces) {
    return pieces.stream().mapToLong(Piece::files).sum();
  }

  /** Into how many manifests so many files are divided. */
  private int parts(long files) {
    return (int) Math.max(1, Math.min(buckets, files / ENOUGH));
  }

  /** The buckets of a manifest where they are divided into so many. */
  private int widthOf(int parts) {
    return (buckets + parts - 1) / parts;
  }
}
