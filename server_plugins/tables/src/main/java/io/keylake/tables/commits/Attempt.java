package io.keylake.tables.commits;

import static io.keylake.tables.commits.NotCommitted.Why.AGAIN;
import static io.keylake.tables.commits.NotCommitted.Why.STALE;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.PromptExecutor;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.Committer;
import io.keylake.tables.history.HighestVersion;
import io.keylake.tables.history.Watermarks;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.manifests.ManifestLayout;
import io.keylake.tables.outcomes.CertainOperations;
import io.keylake.tables.outcomes.CommitStands;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.ManageSnapshots;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.SnapshotUpdate;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.UpdateProperties;
import org.apache.iceberg.util.PropertyUtil;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.iceberg.util.ThreadPools;
import org.jspecify.annotations.Nullable;

/**
 * One attempt to commit a change: a transaction of Iceberg, in one part or several. Iceberg applies
 * the parts again where another commit came first; so each part decides upon its {@link Parent}
 * whether it still holds, and what it says.
 */
public final class Attempt {

  private final Table table;
  private final WriteLabels labels;
  private final @Nullable String committer = Committer.ofThread();
  private final List<ParentCheck> checks;
  private final Transaction transaction;
  private final Set<Integer> specs; // ids of all partition specs
  private final List<Part> parts = new ArrayList<>();
  private @Nullable UpdateProperties properties;
  private Set<String> changed = Set.of(); // properties that are set or removed
  private Set<String> forgotten = Set.of(); // those that are removed
  private boolean changesReferences;
  private boolean isSent;

  Attempt(Table table, WriteLabels labels, List<ParentCheck> checks) {
    this.table = table;
    this.labels = labels;
    this.checks = checks;
    try {
      this.transaction = CertainOperations.of(table).newTransaction();
    } catch (KeylakeException e) {
      throw NotCommitted.refused(e);
    }
    this.specs = Set.copyOf(metadata().specsById().keySet());
  }

  /** A requirement on the branch at the moment of the commit; the refusal says what to do. */
  @FunctionalInterface
  interface ParentCheck {
    void check(Parent parent);
  }

  /** Decides what a part says, upon what is there at the moment of the commit. */
  @FunctionalInterface
  public interface Saying {
    CommitSummary upon(Parent parent);
  }

  /** The transaction in which the updates of parts are made. */
  public Transaction transaction() {
    return transaction;
  }

  /** The table as the attempt sees it: with its parts so far. */
  public Parent parent(@Nullable String branch) {
    String name = name(branch);
    return new Parent(metadata(), table.io(), name, ancestors(name));
  }

  /**
   * Adds files. Where manifests of commits are many, Iceberg merges some; else it need not look at
   * them once more after the commit.
   *
   * @param branch null for main
   */
  AppendFiles append(@Nullable String branch) {
    SnapshotRef head = metadata().ref(name(branch));
    List<ManifestFile> manifests =
        head == null ? List.of() : metadata().snapshot(head.snapshotId()).dataManifests(table.io());
    int most =
        PropertyUtil.propertyAsInt(
            metadata().properties(),
            TableProperties.MANIFEST_MIN_MERGE_COUNT,
            TableProperties.MANIFEST_MIN_MERGE_COUNT_DEFAULT);
    boolean areFew = ManifestLayout.of(transaction.table(), manifests).small() + 1 < most;
    return areFew ? transaction.newFastAppend() : transaction.newAppend();
  }

  /** Changes branches together with the parts. */
  public ManageSnapshots references() {
    changesReferences = true;
    return transaction.manageSnapshots();
  }

  /**
   * Adds a part: one commit of a branch, and gives its snapshot.
   *
   * @param branch null for main
   */
  public long commit(@Nullable String branch, SnapshotUpdate<?> update, Saying saying) {
    Part part = new Part(name(branch), update, saying);
    parts.add(part);
    if (!part.branch.equals(SnapshotRef.MAIN_BRANCH)) {
      update.toBranch(part.branch); // some updates are of main only
    }
    update.scanManifestsWith(new PromptExecutor());
    update.writeManifestsWith(new PromptExecutor(), ThreadPools.WORKER_THREAD_POOL_SIZE);
    update.validateWith(part::isValid);
    update.commit();
    part.snapshotId = metadata().ref(part.branch).snapshotId();
    return part.snapshotId;
  }

  /** Ends the attempt: the plan of the change does not fit what is there any more. */
  public static RuntimeException stale() {
    return NotCommitted.because(STALE);
  }

  /** Ends the attempt: what it was prepared with has changed; another may succeed. */
  public static RuntimeException again() {
    return NotCommitted.because(AGAIN);
  }

  /** Commits all parts. */
  void send() {
    Map<String, String> remembered;
    try {
      remembered = remembered();
    } catch (KeylakeException e) {
      throw NotCommitted.refused(e);
    }
    if (!remembered.isEmpty()) {
      properties = transaction.updateProperties();
      changed = remembered.keySet();
      forgotten = forgotten(remembered);
      change(properties, remembered);
      properties.commit();
    }
    isSent = true;
    transaction.commitTransaction();
  }

  /** Deletes what the parts have written: nobody will ever read it, as they were not sent. */
  void discard() {
    for (Part part : parts) {
      Snapshot snapshot = metadata().snapshot(part.snapshotId);
      if (snapshot != null && !isSent) {
        for (ManifestFile manifest : snapshot.allManifests(table.io())) {
          if (snapshot.snapshotId() == manifest.snapshotId()) {
            table.io().deleteFile(manifest.path());
          }
        }
        table.io().deleteFile(snapshot.manifestListLocation());
      }
    }
  }

  /** A failure leaves open if there is a commit. */
  boolean isSent() {
    return isSent;
  }

  /**
   * Iceberg gives up where another commit comes first: it does not apply changes of references
   * again.
   */
  boolean changesReferences() {
    return changesReferences;
  }

  /** The snapshots of all parts, in order. */
  List<Long> snapshotIds() {
    return parts.stream().map(part -> part.snapshotId).toList();
  }

  /** The snapshot of the last part; null for a change without parts. */
  @Nullable Long snapshotId() {
    return parts.isEmpty() ? null : parts.get(parts.size() - 1).snapshotId;
  }

  private TableMetadata metadata() {
    return ((HasTableOperations) transaction.table()).operations().current();
  }

  private Iterable<Snapshot> ancestors(@Nullable String branch) {
    SnapshotRef ref = metadata().ref(branch);
    TableMetadata now = metadata();
    return ref == null ? List.of() : SnapshotUtil.ancestorsOf(ref.snapshotId(), now::snapshot);
  }

  private static String name(@Nullable String branch) {
    return branch == null ? SnapshotRef.MAIN_BRANCH : branch;
  }

  /** The properties that the table has to have, as they are now, and after the parts. */
  private Map<String, String> remembered() {
    Map<String, String> remembered = new LinkedHashMap<>();
    Map<String, String> known = new LinkedHashMap<>(metadata().properties());
    for (Part part : parts) {
      Ledger.Undo undo = new Ledger.Undo(part.sequenceNumber, numbers(part.said));
      for (Map<String, String> changed :
          List.of(
              CopiedFiles.with(known, part.branch, part.sequenceNumber, part.said.copied()),
              IdempotencyKeys.undone(known, undo),
              SourceOffsets.undone(known, undo))) {
        remembered.putAll(changed);
        known.putAll(changed);
      }
      part.checkOffsets(known);
    }
    if (!parts.isEmpty()) {
      Part last = parts.get(parts.size() - 1);
      remembered.putAll(last.delivery(known));
    }
    return remembered;
  }

  private static Set<String> forgotten(Map<String, String> remembered) {
    return remembered.entrySet().stream()
        .filter(each -> each.getValue().equals(IdempotencyKeys.NONE))
        .map(Map.Entry::getKey)
        .collect(Collectors.toSet());
  }

  private void change(UpdateProperties update, Map<String, String> remembered) {
    remembered.forEach(
        (name, value) -> {
          if (forgotten.contains(name)) {
            update.remove(name);
          } else {
            update.set(name, value);
          }
        });
  }

  /**
   * The numbers of the commits that are taken back, and of those that have made the same writes.
   */
  private NumberSet numbers(CommitSummary said) {
    NumberSet numbers = NumberSet.EMPTY;
    for (long id : said.undone()) {
      Snapshot undone = metadata().snapshot(id);
      numbers = undone == null ? numbers : numbers.and(Ledger.sameAs(table, undone));
    }
    return numbers;
  }

  /** One snapshot of the transaction. */
  private final class Part {
    private final String branch;
    private final SnapshotUpdate<?> update;
    private final Saying saying;
    private final Set<String> names = new HashSet<>();
    private CommitSummary said =
        CommitSummary.of(Map.of()); // nothing, until there is a parent to speak of
    private @Nullable Parent parent;
    private Ledger ledger = Ledger.NOTHING; // of the parent, with what the part adds
    private long sequenceNumber;
    private long snapshotId;

    Part(String branch, SnapshotUpdate<?> update, Saying saying) {
      this.branch = branch;
      this.update = update;
      this.saying = saying;
    }

    /** Iceberg asks before each application of the update, and takes the summary after that. */
    private boolean isValid(Iterable<Snapshot> newestFirst) {
      if (metadata().snapshot(snapshotId) != null) {
        throw new CommitStands(table.name()); // a catalog may have said that it was not taken
      }
      if (!metadata().specsById().keySet().equals(specs)) {
        throw again(); // Iceberg's update has the specs from when it was made
      }
      Parent parent = new Parent(metadata(), table.io(), branch, newestFirst);
      boolean isAppliedAgain = this.parent != null;
      try {
        if (isAppliedAgain && parts.size() > 1) {
          throw again(); // Iceberg's updates keep the numbers that manifests of earlier parts had
        }
        if (parent.headOf(branch) == null && !branch.equals(SnapshotRef.MAIN_BRANCH)) {
          throw CommitLog.noBranch(table.name(), branch, parent.references());
        }
        checks.forEach(check -> check.check(parent));
        checkKey(parent);
        say(parent, saying.upon(parent));
        if (properties != null && this == parts.get(parts.size() - 1)) {
          Map<String, String> remembered = remembered();
          if (!remembered.keySet().equals(changed) || !forgotten(remembered).equals(forgotten)) {
            throw again(); // what an update sets or removes once, it sets or removes
          }
          change(properties, remembered);
        }
      } catch (KeylakeException e) {
        throw NotCommitted.refused(e);
      }
      return true;
    }

    private void checkKey(Parent parent) {
      if (labels.idempotencyKey() != null) {
        IdempotencyKeys.first(parent, labels.idempotencyKey())
            .ifPresent(
                first -> {
                  throw NotCommitted.repeated(first);
                });
      }
    }

    private void say(Parent parent, CommitSummary now) {
      said = now;
      this.parent = parent;
      sequenceNumber = parent.sequenceNumber();
      Map<String, String> all = new LinkedHashMap<>(now.summary());
      if (committer != null) {
        all.putIfAbsent(WriteSummary.WRITER, committer);
      }
      Snapshot newest = parent.snapshot();
      if (newest != null && newest.summary().containsKey(WriteSummary.CONDITIONS)) {
        all.putIfAbsent(WriteSummary.CONDITIONS, newest.summary().get(WriteSummary.CONDITIONS));
      }
      Watermarks.parse(all.get(Watermarks.PROPERTY))
          .and(parent.watermarks())
          .properties()
          .forEach(all::put);
      Ledger before = now.isAnew() ? Ledger.NOTHING : parent.ledger();
      ledger = before.and(now.sameAs()).and(now.takesIn());
      all.put(WriteSummary.TAKEN_IN, ledger.said());
      if (!now.sameAs().equals(NumberSet.EMPTY)) {
        all.put(WriteSummary.SAME_AS, now.sameAs().toString());
      }
      String own = all.get(WriteSummary.MAX_VERSION);
      Long highest =
          HighestVersion.larger(parent.highestVersion(), own == null ? null : Long.valueOf(own));
      if (highest != null) {
        all.put(WriteSummary.HIGHEST_VERSION, String.valueOf(highest));
      }
      if (!all.keySet().containsAll(names)) {
        throw again(); // what was said of an earlier parent cannot be unsaid
      }
      names.addAll(all.keySet());
      all.forEach(update::set);
    }

    /** Checks offsets that come from other branches, or come back, and may be there already. */
    private void checkOffsets(Map<String, String> properties) {
      boolean brings =
          !said.sameAs().equals(NumberSet.EMPTY)
              || !said.takesIn().equals(NumberSet.EMPTY)
              || !said.undone().isEmpty();
      if (brings) {
        Ledger after = ledger.and(NumberSet.of(sequenceNumber));
        SourceOffsets.checkOnce(properties, SourceOffsets.where(table.name(), branch), after);
      }
    }

    /** The part of it that is remembered: its idempotency key and its offsets. */
    private Map<String, String> delivery(Map<String, String> properties) {
      Map<String, String> delivery = new LinkedHashMap<>();
      String key = labels.idempotencyKey();
      if (key != null) {
        delivery.putAll(
            IdempotencyKeys.with(
                properties,
                branch,
                IdempotencyKeys.Remembered.of(key, sequenceNumber, snapshotId, said.summary())));
      }
      if (!labels.offsets().isNone()) {
        String where = SourceOffsets.where(table.name(), branch);
        Parent upon = Objects.requireNonNull(parent, "a part is made upon its parent");
        SourceOffsets.first(where, upon, labels.offsets())
            .ifPresent(
                first -> {
                  throw NotCommitted.repeated(first);
                });
        delivery.putAll(
            SourceOffsets.with(
                properties, where, upon, labels.offsets(), sequenceNumber, snapshotId));
      }
      return delivery;
    }
  }
}
