package io.keylake.tables.conversion;

import io.keylake.tables.deletes.DeleteGroup;
import io.keylake.tables.deletes.PlannedFile;
import java.util.List;

/**
 * Data files to which the same groups of equality deletes apply: those of a partition, as a rule.
 *
 * @param groups that apply to the files
 */
record Portion(List<DeleteGroup> groups, List<PlannedFile> files) {}
