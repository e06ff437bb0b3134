/** The definition of a table: its JSON, its Iceberg schema, and the rules that it keeps. */
@NullMarked
package io.keylake.tables.spec;

import org.jspecify.annotations.NullMarked;
