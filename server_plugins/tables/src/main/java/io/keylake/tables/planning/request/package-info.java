/** Requests of reads, as values: which commits, which rows and which columns. */
@NullMarked
package io.keylake.tables.planning.request;

import org.jspecify.annotations.NullMarked;
