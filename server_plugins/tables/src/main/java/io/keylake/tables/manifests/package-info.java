/**
 * Manifests: the files that they name, as the process keeps them, and the order in which they lie.
 */
@NullMarked
package io.keylake.tables.manifests;

import org.jspecify.annotations.NullMarked;
