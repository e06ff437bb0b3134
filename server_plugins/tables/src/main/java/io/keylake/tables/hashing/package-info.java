/** The hash functions that divide keys into buckets. */
@NullMarked
package io.keylake.tables.hashing;

import org.jspecify.annotations.NullMarked;
