/** Changes of a table's columns: what is allowed, and how the versions of their values follow. */
@NullMarked
package io.keylake.tables.schema;

import org.jspecify.annotations.NullMarked;
