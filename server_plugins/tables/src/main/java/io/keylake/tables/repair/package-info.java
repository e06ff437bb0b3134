/** Undo, changes of whole files, and the adoption of commits by other writers. */
@NullMarked
package io.keylake.tables.repair;

import org.jspecify.annotations.NullMarked;
