/** Writes to many tables at once: one job for the rows of all, and a commit for each table. */
@NullMarked
package io.keylake.pipelines.multitable;

import org.jspecify.annotations.NullMarked;
