/** The kernel: the law by which rows of one key become one, over sorted runs. */
@NullMarked
package io.keylake.merge;

import org.jspecify.annotations.NullMarked;
