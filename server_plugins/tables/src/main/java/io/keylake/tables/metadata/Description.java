package io.keylake.tables.metadata;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.Watermarks;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.metadata.TableFacts.Run;
import io.keylake.tables.spec.Experiment;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.SpecProperties;
import io.keylake.tables.spec.TableSpec;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * A description of a keyed table and of its state, for people, from its metadata alone.
 *
 * @param snapshotId null for a table without a commit
 */
public record Description(Table table, KeyedSchema schema, @Nullable Long snapshotId) {
  private static final String NO_STREAM = "(none)";

  /** A name and what it stands for; a title has no value. */
  public record Line(String name, String value) {}

  public List<Line> lines() {
    List<Line> lines = new ArrayList<>();
    lines.add(title("# Keyed Table"));
    lines.addAll(definition(schema.spec()));
    lines.add(new Line("Runs", runs()));
    Experiment.all(table.properties()).forEach(each -> lines.add(described(each)));
    lines.add(title(""));
    lines.add(title("# Last Commit per Stream"));
    lastCommits().forEach((stream, commit) -> lines.add(new Line(stream, commit)));
    Map<String, Long> watermarks = Watermarks.of(commits()).byStream();
    if (!watermarks.isEmpty()) {
      lines.add(title(""));
      lines.add(title("# Watermarks"));
      watermarks.forEach((stream, micros) -> lines.add(new Line(named(stream), time(micros))));
    }
    return lines;
  }

  private static Line title(String name) {
    return new Line(name, "");
  }

  private static List<Line> definition(TableSpec spec) {
    List<Line> lines = new ArrayList<>();
    lines.add(new Line("Key", SpecProperties.columns(spec.key())));
    lines.add(new Line("Buckets", String.valueOf(spec.buckets())));
    lines.add(new Line("Bucket By", SpecProperties.columns(spec.bucketBy())));
    if (!spec.partitionBy().isEmpty()) {
      lines.add(new Line("Partition By", SpecProperties.columns(spec.partitionBy())));
    }
    SpecProperties.write(spec).forEach((name, value) -> lines.add(new Line(name, value)));
    return lines;
  }

  private Line described(Experiment experiment) {
    String drops = names(experiment.dropped());
    return new Line(
        "Experiment " + experiment.name(),
        "adds " + names(experiment.added()) + (drops.isEmpty() ? "" : "; drops " + drops));
  }

  private String names(List<Integer> ids) {
    return ids.stream()
        .map(table.schema()::findColumnName)
        .filter(Objects::nonNull)
        .collect(Collectors.joining(", "));
  }

  private String runs() {
    if (snapshotId == null) {
      return "0";
    }
    try {
      List<Run> runs = new TableFacts(table, schema, snapshotId).runs();
      long buckets = runs.stream().map(Run::partition).distinct().count();
      long files = runs.stream().mapToLong(run -> run.extent().files()).sum();
      long rows = runs.stream().mapToLong(run -> run.extent().rows()).sum();
      long bytes = runs.stream().mapToLong(run -> run.extent().bytes()).sum();
      return "%d in %d buckets: %d files, %d stored rows, %d bytes"
          .formatted(runs.size(), buckets, files, rows, bytes);
    } catch (KeylakeException e) {
      return e.getMessageParameters().getOrDefault("sentence", "");
    }
  }

  private Iterable<Snapshot> commits() {
    return snapshotId == null ? List.of() : SnapshotUtil.ancestorsOf(snapshotId, table::snapshot);
  }

  /** The last commits of streams, of those that have changed an answer. */
  private Map<String, String> lastCommits() {
    Map<String, String> last = new TreeMap<>();
    for (Snapshot each : commits()) {
      if (!WriteSummary.isTidying(each)) {
        CommitLog.Entry entry = CommitLog.Entry.of(each);
        last.putIfAbsent(named(entry.stream()), described(entry, each));
      }
    }
    return last;
  }

  private static String named(@Nullable String stream) {
    return stream == null || stream.isEmpty() ? NO_STREAM : stream;
  }

  private static String described(CommitLog.Entry entry, Snapshot commit) {
    String verb = entry.verb() == null ? commit.operation() : entry.verb();
    String rows = entry.rows() == null ? "" : ", %d rows".formatted(entry.rows());
    return "%d of %s: %s%s"
        .formatted(entry.snapshotId(), time(entry.committedAtMicros()), verb, rows);
  }

  private static String time(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS).toString();
  }
}
