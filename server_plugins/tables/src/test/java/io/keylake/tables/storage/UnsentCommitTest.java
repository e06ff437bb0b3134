package io.keylake.tables.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.CommitSummary;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.Parent;
import io.keylake.tables.history.WriteSummaries;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A change that comes to nothing leaves no file behind, whichever of its parts ended it. */
class UnsentCommitTest {
  private TableOnDisk disk;

  @BeforeEach
  void createTable(@TempDir Path folder) {
    disk = new TableOnDisk(folder.resolve("t"), new DiskFiles());
    Append first = new Append(null, List.of(disk.written("1 a @10")), WriteSummaries.of("update"));
    new Commits(disk.opened().table).make(first);
  }

  /** Writes two commits, of which a part is decided upon its parent. */
  private record TwoParts(List<DataFile> files, int number, Function<Parent, CommitSummary> ending)
      implements Change {
    @Override
    public void addTo(Attempt attempt) {
      for (int part = 0; part < 2; part++) {
        AppendFiles append = attempt.transaction().newAppend();
        append.appendFile(files.get(part));
        boolean ends = part == number;
        attempt.commit(
            null,
            append,
            parent ->
                ends
                    ? ending.apply(parent)
                    : CommitSummary.of(WriteSummaries.of("update").properties(false)));
      }
    }

    @Override
    public List<String> written() {
      return files.stream().map(DataFile::location).toList();
    }
  }

  private TwoParts change(int number, RuntimeException ending) {
    return new TwoParts(
        List.of(disk.written("2 a @10"), disk.written("3 a @10")),
        number,
        parent -> {
          throw ending;
        });
  }

  @Test
  void whereAPartIsRefused() {
    Set<Path> before = disk.files();
    for (int number = 0; number < 2; number++) {
      Change change = change(number, new KeylakeException(Kind.UNSUPPORTED, "this is not to be"));
      Commits commits = new Commits(disk.opened().table);
      assertThrows(KeylakeException.class, () -> commits.make(change));
      assertEquals(before, disk.files(), "refused in part " + number);
    }
  }

  @Test
  void whereAPartFails() {
    Set<Path> before = disk.files();
    for (int number = 0; number < 2; number++) {
      Change change = change(number, new IllegalStateException("the store is away"));
      Commits commits = new Commits(disk.opened().table);
      assertThrows(IllegalStateException.class, () -> commits.make(change));
      assertEquals(before, disk.files(), "failed in part " + number);
    }
  }

  @Test
  void whereAPartDoesNotFitAnyMore() {
    Set<Path> before = disk.files();
    Change change = change(1, Attempt.stale());
    assertEquals(false, new Commits(disk.opened().table).make(change).isCommitted());
    assertEquals(before, disk.files());
  }
}
