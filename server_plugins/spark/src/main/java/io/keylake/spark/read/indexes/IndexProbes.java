package io.keylake.spark.read.indexes;

import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.FileFilter;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.iceberg.types.Types.NestedField;
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

  /**
   * The question of one column.
   *
   * @param isOfDefault whether rows from before the column may have the value
   */
  private record Probe(FileFilter filter, int column, boolean isOfDefault) implements Serializable {
    boolean mayBeIn(StoredFile file, DataFiles files) throws IOException {
      return files.hasColumn(file, column) ? files.mayHave(file, filter) : isOfDefault;
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

  /** A section may have a row that passes all tests, as far as its files tell. */
  public boolean mayPass(SectionPlan section, DataFiles files) throws IOException {
    for (Probe probe : probes) {
      if (!mayPass(probe, section, files)) {
        section.runs().forEach(run -> files.leaveOut(run.size()));
        return false;
      }
    }
    return true;
  }

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
