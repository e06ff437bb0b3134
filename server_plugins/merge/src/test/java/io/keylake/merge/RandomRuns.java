package io.keylake.merge;

import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Objects;
import java.util.Random;
import java.util.SplittableRandom;

/**
 * How often random tests run, and from which seeds: `make test` has a few seeds of the day. With
 * the property `keylake.runs`, which `make test-slow` and `make nightly` set, there are that many
 * times as many, without those of `make test`.
 */
public final class RandomRuns {
  private static final long DAY =
      Long.parseLong(
          Objects.requireNonNullElseGet(
              System.getenv("KEYLAKE_SEED"),
              () -> DateTimeFormatter.BASIC_ISO_DATE.format(LocalDate.now(ZoneOffset.UTC))));
  private static final int TIMES = Integer.getInteger("keylake.runs", 1);

  private RandomRuns() {}

  /** One run, which draws all that it does from here. */
  public interface Run {
    void draw(Random random) throws Exception;
  }

  /** Runs a test this often; where the property says so, that many times as often, less these. */
  public static void of(int count, Run run) {
    for (int number = TIMES > 1 ? count : 0; number < count * TIMES; number++) {
      try {
        run.draw(random(number));
      } catch (AssertionError | Exception e) {
        throw new AssertionError(
            "run %d of KEYLAKE_SEED=%d: %s".formatted(number, DAY, e.getMessage()), e);
      }
    }
  }

  /** Neighbouring seeds of {@link Random} begin alike, so they are scattered first. */
  private static Random random(int number) {
    return new Random(new SplittableRandom(1000 * DAY + number).nextLong());
  }
}
