package io.keylake.spark.read.indexes;

import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.FileFilter;
import io.keylake.spark.parquet.ReadCounters;
import io.keylake.tables.PromptExecutor;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.util.Tasks;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.Or;

/**
 * The questions of a query that indices of values answer: whether a column has one value, or one of
 * a few.
 *
 * <p>A merged row takes a value from one of the files of its section, whichever wins. So a section
 * has a row with it only if one of its files has it, and it must be so for each question. A file
 * that has no column of the value has none, unless rows from before the column have a default.
 */
public record IndexProbes(List<Probe> probes) implements Serializable {
  public static final IndexProbes NONE = new IndexProbes(List.of());

  /** The files that the driver asks by itself. */
  private static final int MOST_FILES = 512;

  /**
   * The question of one column.
   *
   * @param isOfDefault whether rows from before the column may have the value
   */
  private record Probe(FileFilter filter, int column, boolean isOfDefault) implements Serializable {
    boolean mayBeIn(StoredFile file, DataFiles files) throws IOException {
      return files.mayHave(file, filter, column, isOfDefault);
    }
  }

  /**
   * @param indexed columns that have an index
   * @param filters of which all must pass
   */
  public static IndexProbes of(List<NestedField> indexed, List<Filter> filters) {
    List<Probe> probes = new ArrayList<>();
    for (NestedField column : indexed) {
      for (Filter filter : filters) {
        if (isOf(filter, column.name())) {
          probes.add(
              new Probe(
                  FileFilter.of(List.of(filter), List.of(column)),
                  column.fieldId(),
                  column.initialDefault() != null));
        }
      }
    }
    return probes.isEmpty() ? NONE : new IndexProbes(List.copyOf(probes));
  }

  private static boolean isOf(Filter filter, String column) {
    if (filter instanceof EqualTo equal) {
      return equal.attribute().equals(column) && equal.value() != null;
    }
    if (filter instanceof In among) {
      return among.attribute().equals(column)
          && Arrays.stream(among.values()).allMatch(value -> value != null);
    }
    return filter instanceof Or or && isOf(or.left(), column) && isOf(or.right(), column);
  }

  /** A section may have a row that passes all questions, as far as its files tell. */
  public boolean mayPass(SectionPlan section, DataFiles files) throws IOException {
    for (Probe probe : probes) {
      if (!mayPass(probe, section, files)) {
        section.runs().forEach(run -> files.leaveOut(run.size()));
        return false;
      }
    }
    return true;
  }

  /**
   * Buckets without the sections that have no such row, as the driver asks: a task that finds
   * nothing takes longer than the question. Those of many files are left to tasks.
   */
  public Left left(List<BucketPlan> buckets, FileIO io) {
    long files = buckets.stream().mapToLong(IndexProbes::files).sum();
    if (probes.isEmpty() || files > MOST_FILES) {
      return new Left(buckets, 0);
    }
    AtomicReferenceArray<Left> asked = new AtomicReferenceArray<>(buckets.size());
    Tasks.range(buckets.size())
        .executeWith(new PromptExecutor())
        .stopOnFailure()
        .throwFailureWhenFinished()
        .run(number -> asked.set(number, left(buckets.get(number), io)));
    List<BucketPlan> left = new ArrayList<>();
    long leftOut = 0;
    for (int number = 0; number < buckets.size(); number++) {
      left.addAll(asked.get(number).buckets());
      leftOut += asked.get(number).filesLeftOut();
    }
    return new Left(List.copyOf(left), leftOut);
  }

  private Left left(BucketPlan bucket, FileIO io) {
    ReadCounters counters = new ReadCounters();
    DataFiles files = new DataFiles(io, counters);
    List<SectionPlan> sections = new ArrayList<>();
    try {
      for (SectionPlan section : bucket.sections()) {
        if (mayPass(section, files)) {
          sections.add(section);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    counters.addToTotals();
    return new Left(
        sections.isEmpty() ? List.of() : List.of(new BucketPlan(bucket.partition(), sections)),
        counters.filesLeftOut);
  }

  private static long files(BucketPlan bucket) {
    return bucket.sections().stream()
        .flatMap(section -> section.runs().stream())
        .mapToLong(List::size)
        .sum();
  }

  /** The buckets that are left, and the number of files that are not looked at. */
  public record Left(List<BucketPlan> buckets, long filesLeftOut) {}

  private static boolean mayPass(Probe probe, SectionPlan section, DataFiles files)
      throws IOException {
    for (List<StoredFile> run : section.runs()) {
      for (StoredFile file : run) {
        if (probe.mayBeIn(file, files)) {
          return true;
        }
      }
    }
    return false;
  }
}
