/**
 * The contract between the core and its guests. A guest is a jar that implements {@link
 * io.keylake.spark.extension.KeylakeExtension} and names the class in {@code META-INF/services}. It
 * may import types that are marked {@link io.keylake.tables.GuestApi}, and the core imports nothing
 * of a guest.
 */
@NullMarked
package io.keylake.spark.extension;

import org.jspecify.annotations.NullMarked;
