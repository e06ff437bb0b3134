package io.keylake.tables.commits;

import java.util.Map;
import java.util.Objects;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RewriteManifests;

/**
 * Writes the manifests of main again, by bucket: a plan opens only those of the buckets that it
 * reads. No data file is opened, and no answer changes.
 */
public record ManifestRewrite() implements Change {
  @Override
  public void addTo(Attempt attempt) {
    Map<Integer, PartitionSpec> specs = attempt.transaction().table().specs();
    RewriteManifests rewrite =
        attempt.transaction().rewriteManifests().clusterBy(file -> bucket(specs, file));
    attempt.commit(null, rewrite, parent -> CommitSummary.ofSameRows(parent, "manifests"));
  }

  private static Integer bucket(Map<Integer, PartitionSpec> specs, DataFile file) {
    PartitionSpec spec =
        Objects.requireNonNull(specs.get(file.specId()), "a table keeps the specs of its files");
    int last = spec.fields().size() - 1;
    return file.partition().get(last, Integer.class);
  }
}
