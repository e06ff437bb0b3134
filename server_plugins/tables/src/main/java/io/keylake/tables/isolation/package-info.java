/** Requirements of statements that read before they write on the commits that come meanwhile. */
@NullMarked
package io.keylake.tables.isolation;

import org.jspecify.annotations.NullMarked;
