/** The bucket counts of a table over time, and their change. */
@NullMarked
package io.keylake.tables.buckets;

import org.jspecify.annotations.NullMarked;
