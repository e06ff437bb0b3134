package io.keylake.tables.commits;

import io.keylake.tables.manifests.ManifestLayout;
import java.util.Map;
import java.util.Objects;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RewriteManifests;
import org.jspecify.annotations.Nullable;

/**
 * Writes manifests of main again, by bucket: a plan opens only those of the buckets that it reads.
 * No data file is opened, and no answer changes.
 *
 * @param chosen null for all of them, each bucket in manifests of its own
 */
public record ManifestRewrite(ManifestLayout.@Nullable Rewrite chosen) implements Change {
  /** The rewrite of all manifests. */
  public ManifestRewrite() {
    this(null);
  }

  @Override
  public void addTo(Attempt attempt) {
    Map<Integer, PartitionSpec> specs = attempt.transaction().table().specs();
    RewriteManifests rewrite =
        attempt.transaction().rewriteManifests().clusterBy(file -> part(specs, file));
    if (chosen != null) {
      rewrite.rewriteIf(manifest -> chosen.manifests().contains(manifest.path()));
    }
    attempt.commit(null, rewrite, parent -> CommitSummary.ofSameRows(parent, "manifests"));
  }

  private Integer part(Map<Integer, PartitionSpec> specs, DataFile file) {
    PartitionSpec spec =
        Objects.requireNonNull(specs.get(file.specId()), "a table keeps the specs of its files");
    int last = spec.fields().size() - 1;
    int bucket = file.partition().get(last, Integer.class);
    return chosen == null ? bucket : chosen.part(bucket);
  }
}
