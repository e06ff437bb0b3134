package io.keylake.tables.commits;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.SnapshotRef;
import org.jspecify.annotations.Nullable;

/** A change that brings rows of a writer, who has to repeat it where it cannot be made. */
sealed interface RowWrite extends Change permits Append, Overwrite {
  /** The branch that is written to; null for main. */
  @Nullable String branch();

  List<DataFile> files();

  WriteSummary summary();

  @Override
  default List<String> written() {
    return files().stream().map(DataFile::location).toList();
  }

  @Override
  default WriteLabels labels() {
    return summary().labels();
  }

  @Override
  default KeylakeException lost(String why) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "the commit to branch '%s' lost against other commits too often (%s); write again"
            .formatted(branch() == null ? SnapshotRef.MAIN_BRANCH : branch(), why));
  }
}
