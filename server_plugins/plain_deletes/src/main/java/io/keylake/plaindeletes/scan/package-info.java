/** Reads of plain Iceberg tables with equality deletes. */
@NullMarked
package io.keylake.plaindeletes.scan;

import org.jspecify.annotations.NullMarked;
