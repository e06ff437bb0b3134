/** A cache within bytes, and what a process keeps in it: files of snapshots that never change. */
@NullMarked
package io.keylake.tables.cache;

import org.jspecify.annotations.NullMarked;
