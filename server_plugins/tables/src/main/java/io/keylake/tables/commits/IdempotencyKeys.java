package io.keylake.tables.commits;

import static io.keylake.tables.KeylakeException.Kind.SNAPSHOT_EXPIRED;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.Machine;
import io.keylake.tables.commits.Ledger.TakenBack;
import io.keylake.tables.hashing.ShortHash;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.spec.SpecJson;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The idempotency keys of commits whose snapshots may have expired:
 *
 * <ol>
 *   <li>A property of the table for each branch lists them, with what is to be told of their
 *       commits. It changes in the same transaction as the commit.
 *   <li>A branch has a key if its {@link Ledger} has the commit: keys go with branches, rollbacks
 *       and publications as the commits do.
 *   <li>They are forgotten after the time that the {@link RetentionPolicy} says. A snapshot that is
 *       still there has its key itself.
 * </ol>
 */
final class IdempotencyKeys {
  static final String PREFIX = "keylake.idempotency_keys.";

  /** The value of a property that lists none, and need not be there. */
  static final String NONE = "[]";

  private IdempotencyKeys() {}

  /**
   * A commit with a key, as far as it is known.
   *
   * @param hash of the key
   */
  record Remembered(
      String hash,
      long sequenceNumber,
      long snapshotId,
      long millis,
      @Nullable String verb,
      @Nullable Long rows,
      @Nullable Long minVersion,
      @Nullable Long maxVersion,
      TakenBack takenBack) {

    static Remembered of(
        String key, long sequenceNumber, long snapshotId, Map<String, String> summary) {
      return new Remembered(
          IdempotencyKeys.hash(key),
          sequenceNumber,
          snapshotId,
          Machine.here().now().toEpochMilli(),
          summary.get(WriteSummary.VERB),
          number(summary.get(WriteSummary.ROWS)),
          number(summary.get(WriteSummary.MIN_VERSION)),
          number(summary.get(WriteSummary.MAX_VERSION)),
          TakenBack.NEVER);
    }

    private static @Nullable Long number(@Nullable String text) {
      return text == null ? null : Long.valueOf(text);
    }

    private static Remembered of(JsonNode values) {
      return new Remembered(
          values.get(0).textValue(),
          values.get(1).longValue(),
          values.get(2).longValue(),
          values.get(3).longValue(),
          values.get(4).textValue(),
          optional(values.get(5)),
          optional(values.get(6)),
          optional(values.get(7)),
          TakenBack.parse(values.path(8)));
    }

    private static @Nullable Long optional(JsonNode value) {
      return value.isNull() ? null : Long.valueOf(value.longValue());
    }

    private List<Object> values() {
      List<Object> values = new ArrayList<>();
      values.addAll(Arrays.asList(hash, sequenceNumber, snapshotId, millis, verb));
      values.addAll(Arrays.asList(rows, minVersion, maxVersion));
      if (!takenBack.by().isEmpty()) {
        values.add(takenBack.values());
      }
      return values;
    }

    private Remembered after(Ledger.Undo undo) {
      return new Remembered(
          hash,
          sequenceNumber,
          snapshotId,
          millis,
          verb,
          rows,
          minVersion,
          maxVersion,
          takenBack.after(undo, sequenceNumber));
    }

    private CommitLog.Entry entry(String key, Ledger ledger) {
      return new CommitLog.Entry(
          snapshotId,
          null,
          millis * 1000,
          verb,
          rows,
          minVersion,
          maxVersion,
          List.of(),
          null,
          null,
          null,
          key,
          null,
          null,
          takenBack.isOn(ledger),
          null,
          null);
    }
  }

  /** The commit of a branch that has a key. */
  static Optional<CommitLog.Entry> first(Parent parent, String key) {
    Optional<CommitLog.Entry> there = CommitLog.withKey(parent.commits(), key);
    return there.isPresent() ? there : first(parent.metadata().properties(), parent.ledger(), key);
  }

  /** The first commit with the key, also where its snapshot has expired. */
  static Optional<CommitLog.Entry> first(
      Map<String, String> properties, Ledger ledger, String key) {
    String hash = hash(key);
    for (List<Remembered> each : all(properties).values()) {
      for (Remembered commit : each) {
        if (commit.hash().equals(hash)) {
          if (ledger.has(commit.sequenceNumber())) {
            return Optional.of(commit.entry(key, ledger));
          }
          if (ledger.isUnknown(NumberSet.of(commit.sequenceNumber()))) {
            throw unknown(key, commit);
          }
        }
      }
    }
    return Optional.empty();
  }

  private static KeylakeException unknown(String key, Remembered commit) {
    return new KeylakeException(
        SNAPSHOT_EXPIRED,
        "idempotency key '%s' was used by commit %d, and it cannot be told whether the branch has that: the commits that said so have expired after a commit of another engine; look for its rows, and write with another key if they are missing"
            .formatted(key, commit.snapshotId()));
  }

  /**
   * The properties that change when a commit is remembered: also those of other branches, which may
   * be gone, forget what is older than the policy says.
   */
  static Map<String, String> with(
      Map<String, String> properties, String branch, Remembered commit) {
    RetentionPolicy policy = RetentionPolicy.of(properties);
    long oldest = Machine.here().now().toEpochMilli() - policy.idempotencyKept().toMillis();
    Map<String, List<Remembered>> all = all(properties);
    Map<String, String> changed = new TreeMap<>();
    all.forEach(
        (name, commits) -> {
          List<Remembered> kept = since(oldest, commits);
          if (kept.size() < commits.size()) {
            changed.put(name, written(kept));
          }
        });
    List<Remembered> own = since(oldest, all.getOrDefault(PREFIX + branch, List.of()));
    own.add(commit);
    changed.put(PREFIX + branch, written(own));
    return changed;
  }

  private static List<Remembered> since(long oldest, List<Remembered> commits) {
    return commits.stream()
        .filter(each -> each.millis() >= oldest)
        .collect(Collectors.toCollection(ArrayList::new));
  }

  /** The properties that change when commits are taken back, or commits that took others back. */
  static Map<String, String> undone(Map<String, String> properties, Ledger.Undo undo) {
    Map<String, String> changed = new TreeMap<>();
    if (!undo.of().equals(NumberSet.EMPTY)) {
      all(properties)
          .forEach(
              (name, commits) -> {
                List<Remembered> now = commits.stream().map(each -> each.after(undo)).toList();
                if (!now.equals(commits)) {
                  changed.put(name, written(now));
                }
              });
    }
    return changed;
  }

  private static Map<String, List<Remembered>> all(Map<String, String> properties) {
    Map<String, List<Remembered>> all = new TreeMap<>();
    properties.forEach(
        (name, json) -> {
          if (name.startsWith(PREFIX)) {
            List<Remembered> commits = new ArrayList<>();
            SpecJson.parse(json).forEach(each -> commits.add(Remembered.of(each)));
            all.put(name, commits);
          }
        });
    return all;
  }

  private static String written(List<Remembered> commits) {
    return SpecJson.write(commits.stream().map(Remembered::values).toList());
  }

  /** Keys may be long. */
  private static String hash(String key) {
    return ShortHash.of(key, 16);
  }
}
