package io.keylake.tables.check;

import java.util.List;

/**
 * The snapshots that need a file.
 *
 * @param branches those whose newest snapshot is among them
 * @param tags those that name one of them
 * @param snapshots ids of all of them, the newest first
 */
public record Uses(List<String> branches, List<String> tags, List<Long> snapshots) {
  public Uses {
    branches = List.copyOf(branches);
    tags = List.copyOf(tags);
    snapshots = List.copyOf(snapshots);
  }

  /** Only older snapshots need the file, which expire. */
  public boolean isOfThePast() {
    return branches.isEmpty() && tags.isEmpty();
  }
}
