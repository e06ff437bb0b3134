/** How many buckets a table has had over time, and how the count is changed. */
@NullMarked
package io.keylake.tables.buckets;

import org.jspecify.annotations.NullMarked;
