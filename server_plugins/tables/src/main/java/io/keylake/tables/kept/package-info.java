/** A cache of files and snapshots that never change, within bytes. */
@NullMarked
package io.keylake.tables.kept;

import org.jspecify.annotations.NullMarked;
