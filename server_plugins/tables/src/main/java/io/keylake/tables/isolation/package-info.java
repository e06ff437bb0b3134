/** What statements that read before they write require of the commits that come meanwhile. */
@NullMarked
package io.keylake.tables.isolation;

import org.jspecify.annotations.NullMarked;
