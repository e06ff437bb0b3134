/** The guest that pipelines need on the server: messages of topics, and writes to many tables. */
@NullMarked
package io.keylake.pipelines;

import org.jspecify.annotations.NullMarked;
