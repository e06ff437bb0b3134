/** Rows of a client that the session keeps in chunks, as a frame, until the client forgets them. */
@NullMarked
package io.keylake.spark.sent;

import org.jspecify.annotations.NullMarked;
