package io.keylake.spark.read.merge;

import io.keylake.spark.engine.ConstantVector;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.read.merge.ReadingStrategy.Way;
import io.keylake.spark.read.selection.Selection;
import io.keylake.spark.read.selection.SelectionCache;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.ReadTotal;
import io.keylake.tables.planning.SectionPlan;
import java.io.Closeable;
import java.io.IOException;
import java.io.Serializable;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;

/**
 * The merged rows of one section, in key order, batch by batch. A batch is valid until the next
 * one.
 */
abstract class SectionReader implements Closeable {
  final ReadTask task;
  final SectionPlan section;
  private final int bucket;

  SectionReader(ReadTask task, SectionPlan section, List<Serializable> partition) {
    this.task = task;
    this.section = section;
    this.bucket = (Integer) partition.get(partition.size() - 1);
  }

  private static @Nullable Selection known(SectionPlan section) {
    Selection found = SelectionCache.ofProcess().of(section);
    (found == null ? ReadTotal.SELECTION_MISSES : ReadTotal.SELECTION_HITS).add(1);
    return found;
  }

  /** Opens a section by the {@link ReadingStrategy} that it has in this process. */
  static SectionReader open(
      ReadTask task,
      ReadFacts read,
      SectionPlan section,
      List<Serializable> partition,
      DataFiles files)
      throws IOException {
    Selection selection = SectionFacts.maySelect(read, section) ? known(section) : null;
    SectionFacts facts = SectionFacts.of(read, section, selection != null, files.areCut());
    ReadingStrategy strategy = ReadingStrategy.of(facts);
    if (strategy.way() == Way.KEYS_FIRST) {
      selection = SelectedRows.find(task, section, files);
      strategy = selection == null ? ReadingStrategy.afterKeys(facts) : strategy;
    }
    boolean sievesFiles = strategy.sievesFiles();
    return switch (strategy.way()) {
      case PASS_THROUGH -> new PassThroughReader(task, section, partition, files, sievesFiles);
      case SELECTION_KNOWN, KEYS_FIRST -> {
        DataFiles selected = files.with(Objects.requireNonNull(selection).byFile());
        yield new PassThroughReader(task, section.withoutMerge(), partition, selected, sievesFiles);
      }
      case SIEVE_FIRST -> {
        Sieve.Needed needed = Sieve.sift(task, section, files);
        boolean notes = needed.isAll() && facts.notesSelection();
        yield new MergeReader(task, section, partition, files, needed, notes);
      }
      case MERGE ->
          new MergeReader(
              task, section, partition, files, Sieve.Needed.ALL, facts.notesSelection());
    };
  }

  /** The next batch, or null at the end. */
  abstract @Nullable ColumnarBatch next() throws IOException;

  final ColumnVector bucketVector(int rows) {
    return ConstantVector.of(bucket, rows);
  }
}
