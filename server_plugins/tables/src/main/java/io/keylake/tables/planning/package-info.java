/**
 * Cuts files into runs, sections and slices; the plans of reads and change feeds; facts about files
 * from manifests.
 */
@NullMarked
package io.keylake.tables.planning;

import org.jspecify.annotations.NullMarked;
