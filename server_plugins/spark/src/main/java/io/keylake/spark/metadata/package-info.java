/** The tables about a table, such as its commits and files. */
@NullMarked
package io.keylake.spark.metadata;

import org.jspecify.annotations.NullMarked;
