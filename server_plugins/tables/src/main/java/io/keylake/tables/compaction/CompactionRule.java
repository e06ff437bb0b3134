package io.keylake.tables.compaction;

import io.keylake.tables.compaction.BucketLayout.Stretch;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** One reason to merge neighbouring runs of a bucket, to settle it, or to divide it. */
interface CompactionRule {

  /** The order is the policy: the first that picks something wins. */
  List<CompactionRule> ALL =
      List.of(
          new RebucketRule(),
          new IndexRule(),
          new FileCountRule(),
          new SupersededRule(),
          new SettleRule(),
          new FullTierRule(),
          new ExpiredTombstonesRule());

  /**
   * The runs that a rule wants merged; all of a bucket where it wants it settled.
   *
   * @param because the figures that made it so
   */
  record Pick(Stretch stretch, Reason reason, String because) {

    /** The same runs where the bucket has newer ones, too. */
    private Pick of(BucketLayout layout) {
      boolean isAll = reason == Reason.SETTLE;
      int to = isAll ? layout.runs().size() : stretch.to();
      return new Pick(layout.stretch(stretch.from(), to), reason, because);
    }

    /** All runs of another layout, for the same reason. */
    Pick ofAll(BucketLayout layout) {
      return new Pick(layout.all(), reason, because);
    }

    /**
     * Tombstones may go: nothing remains that they hold down, neither older runs nor late data in
     * younger ones, and what is later still had its time.
     */
    boolean dropsTombstones(CompactionPolicy policy) {
      var retention = policy.tombstoneRetention();
      return retention != null
          && stretch.size() == stretch.layout().runs().size()
          && stretch.runs().stream()
              .filter(BucketLayout.Run::hasTombstones)
              .allMatch(run -> !run.committedAt().plus(retention).isAfter(stretch.layout().now()));
    }
  }

  /** The check that wanted it. */
  enum Reason {
    REBUCKET,
    INDEX,
    FILE_COUNT,
    SUPERSEDED,
    SETTLE,
    FULL_TIER,
    EXPIRED_TOMBSTONES,
    LATE;

    String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  Optional<Pick> pick(BucketLayout layout, CompactionPolicy policy);

  /** The rule has time until the newest runs are old. */
  default boolean waits() {
    return true;
  }

  /**
   * The pick of the first rule that has a say. The newest small runs are shown to those alone that
   * must not wait.
   */
  static Optional<Pick> first(BucketLayout layout, CompactionPolicy policy) {
    BucketLayout older = layout.withoutRecent(policy);
    return ALL.stream()
        .flatMap(rule -> rule.pickOf(rule.waits() ? older : layout, layout, policy).stream())
        .findFirst();
  }

  private Optional<Pick> pickOf(BucketLayout shown, BucketLayout layout, CompactionPolicy policy) {
    return shown.runs().isEmpty()
        ? Optional.empty()
        : pick(shown, policy).map(pick -> pick.of(layout));
  }
}
