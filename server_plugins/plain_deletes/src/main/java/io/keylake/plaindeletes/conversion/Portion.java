package io.keylake.plaindeletes.conversion;

import io.keylake.plaindeletes.index.DeleteGroup;
import io.keylake.plaindeletes.index.PlannedFile;
import java.util.List;

/**
 * Data files to which the same groups of equality deletes apply: those of a partition, as a rule.
 *
 * @param groups that apply to the files
 */
record Portion(List<DeleteGroup> groups, List<PlannedFile> files) {}
