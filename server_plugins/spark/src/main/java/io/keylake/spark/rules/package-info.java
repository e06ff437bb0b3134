/** Rules of the analyzer and the optimizer. */
@NullMarked
package io.keylake.spark.rules;

import org.jspecify.annotations.NullMarked;
