/** What a process keeps of files and tables that never change. */
@NullMarked
package io.keylake.tables.kept;

import org.jspecify.annotations.NullMarked;
