package io.keylake.tables.planning;

import io.keylake.merge.SortedRun;
import io.keylake.tables.Machine;
import io.keylake.tables.planning.RowGroups.RowGroup;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.iceberg.types.Comparators;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.Tasks;
import org.jspecify.annotations.Nullable;

/**
 * Cuts big buckets into parts of about the same size, for a scan that needs neither one task per
 * bucket nor an order.
 *
 * <ol>
 *   <li>A part is at most what a task should read; where there are fewer buckets than tasks that
 *       run at once it is smaller, but never below {@link #SMALLEST_PART_BYTES}, because each part
 *       opens its files anew.
 *   <li>A section larger than a part is cut into slices at keys that stand at even distances in its
 *       biggest run: at the starts of its row groups, or of its files where it has many.
 *   <li>Sections and slices are then packed into parts, in key order.
 * </ol>
 */
final class Slicer {
  static final long SMALLEST_PART_BYTES = 16L << 20;
  private static final int MOST_FOOTERS = 16;
  private static final int MOST_TEXT_BYTES = 8;

  private final Type keyType;
  private final ReadPlan.Spread wanted;
  private final RowGroups rowGroups;
  private final Map<String, List<RowGroup>> footers = new ConcurrentHashMap<>();

  Slicer(KeyedSchema schema, ReadPlan.Spread wanted, RowGroups rowGroups) {
    this.keyType = schema.sortKey().get(0).type();
    this.wanted = wanted;
    this.rowGroups = rowGroups;
  }

  /** A section or a slice of it, with its share of the bytes. */
  private record Piece(SectionPlan plan, long bytes) {}

  List<BucketPlan> spread(List<ReadPlan.Bucket> buckets) {
    long partBytes = partBytes(buckets);
    readFooters(buckets, partBytes);
    List<BucketPlan> parts = new ArrayList<>();
    for (ReadPlan.Bucket bucket : buckets) {
      if (bucket.wantedBytes() <= partBytes) {
        parts.add(bucket.plan());
      } else {
        parts.addAll(parts(bucket, partBytes));
      }
    }
    return parts;
  }

  private long partBytes(List<ReadPlan.Bucket> buckets) {
    long whole = Math.max(wanted.partitionBytes(), 1);
    if (buckets.size() >= wanted.parallelism()) {
      return whole;
    }
    long all = buckets.stream().mapToLong(ReadPlan.Bucket::wantedBytes).sum();
    long even = ceilDivide(all, wanted.parallelism());
    return Math.min(whole, Math.max(even, SMALLEST_PART_BYTES));
  }

  private static long ceilDivide(long value, long by) {
    return -Math.floorDiv(-value, by);
  }

  private List<BucketPlan> parts(ReadPlan.Bucket bucket, long partBytes) {
    long even = ceilDivide(bucket.wantedBytes(), ceilDivide(bucket.wantedBytes(), partBytes));
    List<BucketPlan> parts = new ArrayList<>();
    List<SectionPlan> part = new ArrayList<>();
    long bytes = 0;
    for (PlannedSection section : bucket.sections()) {
      for (Piece piece : pieces(section, partBytes)) {
        // Half a piece too many is as good as half a piece too few.
        if (!part.isEmpty() && bytes + piece.bytes() / 2 > even) {
          parts.add(new BucketPlan(bucket.partition(), part));
          part.clear();
          bytes = 0;
        }
        part.add(piece.plan());
        bytes += piece.bytes();
      }
    }
    parts.add(new BucketPlan(bucket.partition(), part));
    return parts;
  }

  private List<Piece> pieces(PlannedSection section, long partBytes) {
    long bytes = section.wantedBytes();
    List<Serializable> boundaries =
        bytes > partBytes && isSliced()
            ? boundaries(samples(biggest(section)), ceilDivide(bytes, partBytes))
            : List.of();
    if (boundaries.isEmpty()) {
      return List.of(new Piece(section.plan(), bytes));
    }
    List<Piece> pieces = new ArrayList<>();
    long share = bytes / (boundaries.size() + 1);
    Serializable lower = null;
    for (Serializable upper : boundaries) {
      pieces.add(new Piece(section.plan().cutTo(new KeySlice(lower, upper)), share));
      lower = upper;
    }
    pieces.add(new Piece(section.plan().cutTo(new KeySlice(lower, null)), share));
    return pieces;
  }

  private static SortedRun<PlannedFile> biggest(PlannedSection section) {
    Comparator<SortedRun<PlannedFile>> bySize =
        Comparator.comparingLong(
            run -> run.files().stream().mapToLong(PlannedFile::wantedBytes).sum());
    return section.runs().stream().max(bySize).orElseThrow();
  }

  private void readFooters(List<ReadPlan.Bucket> buckets, long partBytes) {
    List<PlannedFile> unread =
        buckets.stream()
            .filter(bucket -> bucket.wantedBytes() > partBytes)
            .flatMap(bucket -> bucket.sections().stream())
            .filter(section -> section.wantedBytes() > partBytes)
            .map(section -> biggest(section).files())
            .filter(files -> isSliced() && files.size() < MOST_FOOTERS)
            .flatMap(Collection::stream)
            .toList();
    Tasks.foreach(unread)
        .executeWith(Machine.here().workers())
        .stopOnFailure()
        .throwFailureWhenFinished()
        .run(file -> footers.put(file.file().location(), rowGroups.of(file.file())));
  }

  /** Keys of a run in their order, each with the rows from there to the next. */
  private List<RowGroup> samples(SortedRun<PlannedFile> run) {
    List<RowGroup> samples = new ArrayList<>();
    for (PlannedFile file : run.files()) {
      List<RowGroup> groups = footers.get(file.file().location());
      samples.addAll(groups == null ? List.of(fileAsOne(file)) : groups);
    }
    return samples;
  }

  private RowGroup fileAsOne(PlannedFile file) {
    KeyBound lower = file.facts().lower();
    Object first = lower.infinite() == 0 ? lower.values().get(0) : null;
    return new RowGroup(KeySlice.boundary(first), file.file().rows());
  }

  private boolean isSliced() {
    return KeySlice.cuts(keyType);
  }

  /** Chooses at most {@code slices - 1} keys, ascending, that cut the rows evenly. */
  private List<Serializable> boundaries(List<RowGroup> samples, long slices) {
    long rows = samples.stream().mapToLong(RowGroup::rows).sum();
    List<Serializable> boundaries = new ArrayList<>();
    long before = 0;
    long next = 1;
    Serializable last = null;
    for (RowGroup sample : samples) {
      Serializable lower = shortened(sample.lower());
      boolean isAbove = lower != null && last != null && order().compare(lower, last) > 0;
      if (isAbove && next < slices && before >= rows * next / slices) {
        boundaries.add(lower);
        while (next < slices && before >= rows * next / slices) {
          next++;
        }
      }
      last = last == null || isAbove ? lower : last;
      before += sample.rows();
    }
    return boundaries;
  }

  private Comparator<Object> order() {
    return keyType.typeId() == Type.TypeID.STRING
        ? Comparators.forType(Types.StringType.get())
        : Comparators.forType(Types.LongType.get());
  }

  /** The first characters of a text, whole ones: every text that has more of them is above it. */
  static @Nullable Serializable shortened(@Nullable Serializable boundary) {
    if (!(boundary instanceof String text)) {
      return boundary;
    }
    int end = 0;
    int bytes = 0;
    while (end < text.length()) {
      int next = text.offsetByCodePoints(end, 1);
      bytes += text.substring(end, next).getBytes(StandardCharsets.UTF_8).length;
      if (bytes > MOST_TEXT_BYTES) {
        break;
      }
      end = next;
    }
    return text.substring(0, end);
  }
}
