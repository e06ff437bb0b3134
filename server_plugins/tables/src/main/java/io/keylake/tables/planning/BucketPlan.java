package io.keylake.tables.planning;

import java.io.Serializable;
import java.util.List;

/**
 * The files and sections that a read of one bucket opens.
 *
 * @param partition the partition tuple as Iceberg keeps it; the bucket is its last member
 * @param sections in key order
 */
public record BucketPlan(List<Serializable> partition, List<SectionPlan> sections)
    implements Serializable {
  public BucketPlan {
    sections = List.copyOf(sections);
  }

  /** The rows of a slice alone. */
  public BucketPlan cutTo(KeySlice slice) {
    return new BucketPlan(
        partition, sections.stream().map(section -> section.cutTo(slice)).toList());
  }

  public long rows() {
    return sections.stream().mapToLong(SectionPlan::rows).sum();
  }

  public long bytes() {
    return sections.stream().mapToLong(SectionPlan::bytes).sum();
  }
}
