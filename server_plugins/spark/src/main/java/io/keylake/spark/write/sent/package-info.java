/** Rows that a client sends in chunks, as a frame, until the client forgets them. */
@NullMarked
package io.keylake.spark.write.sent;

import org.jspecify.annotations.NullMarked;
