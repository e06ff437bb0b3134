package io.keylake.spark.access;

import com.google.common.hash.Hashing;
import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The policy of a server, as its file says it now:
 *
 * <ol>
 *   <li>Whoever asks for the policy looks at the file, and at the key of signed tokens, if nobody
 *       has for a while.
 *   <li>A change is taken when the files have not changed for a second, since half of a file can be
 *       a policy that allows more: a rule may end before what narrows it.
 *   <li>A file that is refused, or gone, changes nothing. The log says so once for each reason, and
 *       the server tells it as a metric.
 * </ol>
 */
final class PolicyWatch {
  private static final Logger LOG = LoggerFactory.getLogger(PolicyWatch.class);
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
  private static final long SETTLED_MILLIS = 1_000;

  private final Path file;
  private volatile Access now;
  private volatile long lookedAt = System.nanoTime();
  private volatile @Nullable String refusal;
  private Map<Path, String> taken;
  private @Nullable Map<Path, String> seen;
  private long seenAt;

  /**
   * A policy that is in force.
   *
   * @param seals of its principals
   */
  record Access(Policy policy, Seals seals) {}

  PolicyWatch(Path file) {
    this.file = file;
    Policy first = PolicyFile.read(file);
    this.now = new Access(first, Seals.of(first));
    this.taken = digests(first.files());
  }

  /** The policy that is in force. */
  Access now() {
    if (System.nanoTime() - lookedAt > LOOK_NANOS) {
      look();
    }
    return now;
  }

  /** The file is refused as it is, and an earlier policy is in force. */
  boolean isRefused() {
    now();
    return refusal != null;
  }

  /** Takes what the files say, if it is new and complete. */
  synchronized void look() {
    lookedAt = System.nanoTime();
    Map<Path, String> found = digests(now.policy().files());
    if (found.equals(taken) && refusal == null) {
      seen = null;
      return;
    }
    if (!found.equals(seen)) {
      seen = found;
      seenAt = lookedAt;
    }
    if (areOld(now.policy().files())
        || lookedAt - seenAt >= TimeUnit.MILLISECONDS.toNanos(SETTLED_MILLIS)) {
      take(found);
    }
  }

  private void take(Map<Path, String> found) {
    Policy read;
    try {
      read = PolicyFile.read(file);
    } catch (KeylakeException e) {
      if (!e.sentence().equals(refusal)) {
        LOG.error("{}; the policy of before stays in force", e.sentence());
      }
      refusal = e.sentence();
      return;
    }
    if (!digests(now.policy().files()).equals(found)) {
      return; // it has changed while it was read
    }
    taken = digests(read.files());
    now = new Access(read, now.seals().changed(now.policy(), read));
    refusal = null;
    LOG.info(
        "the access policy {} was read again: {} principals, {} rules",
        file,
        read.principals().size(),
        read.rules().size());
  }

  /** The contents of files; a file that cannot be read has none. */
  private static Map<Path, String> digests(List<Path> files) {
    Map<Path, String> digests = new HashMap<>();
    for (Path each : files) {
      try {
        digests.put(each, Hashing.sha256().hashBytes(Files.readAllBytes(each)).toString());
      } catch (IOException e) {
        digests.put(each, "");
      }
    }
    return digests;
  }

  /** Nobody writes to the files any more, as far as their times say. */
  private static boolean areOld(List<Path> files) {
    long now = System.currentTimeMillis();
    for (Path each : files) {
      try {
        if (now - Files.getLastModifiedTime(each).toMillis() < SETTLED_MILLIS) {
          return false;
        }
      } catch (IOException e) {
        return false;
      }
    }
    return true;
  }
}
