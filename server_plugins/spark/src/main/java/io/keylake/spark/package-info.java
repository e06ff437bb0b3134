/**
 * The way into the plug-in: the extensions that a session loads, and what it does once per session.
 */
@NullMarked
package io.keylake.spark;

import org.jspecify.annotations.NullMarked;
