package io.keylake.tables.planning;

import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.Serializable;
import java.util.List;

/** The plan of a change feed over a range of commits: the touched stretches of each bucket. */
public record ChangePlan(List<Bucket> buckets) {
  public ChangePlan {
    buckets = List.copyOf(buckets);
  }

  /**
   * One bucket over one range.
   *
   * @param commit the last write of the range
   * @param stretches in key order
   */
  public record Bucket(List<Serializable> partition, long commit, List<Stretch> stretches)
      implements Serializable {
    public Bucket {
      stretches = List.copyOf(stretches);
    }
  }

  /**
   * The sections of one range of keys, as they were before the range and as they are after it.
   *
   * @param touching files that writes of the range have left, or taken away: no other key has
   *     changed
   */
  public record Stretch(
      List<SectionPlan> before, List<SectionPlan> after, List<StoredFile> touching)
      implements Serializable {
    public Stretch {
      touching = List.copyOf(touching);
      before = List.copyOf(before);
      after = List.copyOf(after);
    }
  }
}
