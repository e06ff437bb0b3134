package io.keylake.merge;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/** Rows per second that go into a merge of runs in memory, one thread. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 4, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class KernelBenchmark {
  private static final int ROWS = 400_000;

  /** What the keys are. */
  public enum KeyType {
    /** One number: the prefix is the whole key. */
    LONG,
    /** A text of 16 characters, of which the prefix has eight. */
    TEXT,
    /** Two numbers, of which the prefix has the first; four keys share it. */
    COMPOUND
  }

  @Param public KeyType keyType;

  @Param({"2", "11", "51", "200"})
  public int runs;

  private List<long[]> keys;
  private MergeRules rules;

  @Setup
  public void drawRuns() {
    Random random = new Random(7);
    int base = ROWS / 2;
    keys = new ArrayList<>();
    keys.add(LongStream.range(0, base).toArray());
    int each = (ROWS - base) / (runs - 1);
    for (int run = 1; run < runs; run++) {
      int stride = base / each;
      keys.add(LongStream.range(0, each).map(i -> i * stride + random.nextInt(stride)).toArray());
    }
    List<Presence> always = Collections.nCopies(runs, Presence.ALWAYS);
    rules =
        new MergeRules(
            MergeRules.Order.RUN,
            always,
            Collections.nCopies(runs, Presence.NEVER),
            List.of(new ColumnClass(always)),
            MergeRules.Wanted.ROWS);
  }

  private List<RunInArrays> cursors() {
    return keys.stream().map(this::cursor).toList();
  }

  private RunInArrays cursor(long[] numbers) {
    return switch (keyType) {
      case LONG -> new RunInArrays(numbers, null, null);
      case COMPOUND ->
          new RunInArrays(
              LongStream.of(numbers).map(number -> number / 4).toArray(),
              null,
              LongStream.of(numbers).map(number -> number % 4).toArray());
      case TEXT -> {
        byte[][] texts = new byte[numbers.length][];
        long[] prefixes = new long[numbers.length];
        for (int row = 0; row < texts.length; row++) {
          texts[row] =
              "%08d-%07d"
                  .formatted(numbers[row] / 2, numbers[row])
                  .getBytes(StandardCharsets.US_ASCII);
          prefixes[row] = ByteBuffer.wrap(texts[row]).getLong() ^ Long.MIN_VALUE;
        }
        yield new RunInArrays(prefixes, texts, null);
      }
    };
  }

  /** The runs, made anew for each merge: a cursor is walked once. */
  @State(Scope.Thread)
  public static class Walk {
    private List<RunInArrays> cursors;

    @Setup(Level.Invocation)
    public void start(KernelBenchmark benchmark) {
      if (cursors == null) {
        cursors = benchmark.cursors();
      }
      cursors = cursors.stream().map(RunInArrays::again).toList();
    }
  }

  @Benchmark
  @OperationsPerInvocation(ROWS)
  public void loserTree(Walk walk, Blackhole sink) throws IOException {
    try (SortedMerge merge = new SortedMerge(walk.cursors, rules, 4096)) {
      for (Decisions next = merge.next(); next.count() > 0; next = merge.next()) {
        sink.consume(next.keys());
      }
    }
  }

  /** The newest row of each key, by a queue of heads. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public void priorityQueue(Walk walk, Blackhole sink) {
    List<RunInArrays> all = walk.cursors;
    int[] places = new int[all.size()];
    PriorityQueue<Integer> heads =
        new PriorityQueue<>(
            (a, b) -> {
              int order = all.get(a).compare(places[a], all.get(b), places[b]);
              return order != 0 ? order : Integer.compare(a, b);
            });
    for (int run = 0; run < places.length; run++) {
      heads.add(run);
    }
    int winner = -1;
    int place = -1;
    while (!heads.isEmpty()) {
      int run = heads.poll();
      if (winner >= 0 && all.get(winner).compare(place, all.get(run), places[run]) != 0) {
        sink.consume(((long) winner << 32) | place);
      }
      winner = run;
      place = places[run]++;
      if (places[run] < all.get(run).rows()) {
        heads.add(run);
      }
    }
    sink.consume(((long) winner << 32) | place);
  }
}
