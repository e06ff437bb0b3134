/**
 * The commits that a keyed table takes over from a plain table that another engine upserts into.
 */
@NullMarked
package io.keylake.tables.adoption;

import org.jspecify.annotations.NullMarked;
