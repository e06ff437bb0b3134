/** Experiments: columns of their own, with files of their own, that main does not show. */
@NullMarked
package io.keylake.tables.experiments;

import org.jspecify.annotations.NullMarked;
