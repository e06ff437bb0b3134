/** Finds out what became of a commit, where the answer of the catalog does not say it. */
@NullMarked
package io.keylake.tables.outcomes;

import org.jspecify.annotations.NullMarked;
