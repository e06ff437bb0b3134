/** Rows that a check has held back: the branch that they lie on, and their ways to main. */
@NullMarked
package io.keylake.tables.quarantine;

import org.jspecify.annotations.NullMarked;
