/** Places and names of files, and the files that no snapshot knows. */
@NullMarked
package io.keylake.tables.storage;

import org.jspecify.annotations.NullMarked;
