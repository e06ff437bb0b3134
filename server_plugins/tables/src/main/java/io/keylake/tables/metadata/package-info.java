/** Facts about a table that are shown as tables. */
@NullMarked
package io.keylake.tables.metadata;

import org.jspecify.annotations.NullMarked;
