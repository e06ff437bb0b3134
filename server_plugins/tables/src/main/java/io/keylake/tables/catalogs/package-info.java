/** Catalogs of Iceberg whose tables say at once what the store has answered. */
@NullMarked
package io.keylake.tables.catalogs;

import org.jspecify.annotations.NullMarked;
