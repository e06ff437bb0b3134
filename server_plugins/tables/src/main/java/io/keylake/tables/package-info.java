/**
 * Classes that all rooms of this module share: the errors that people see, and the hash of a key.
 */
@NullMarked
package io.keylake.tables;

import org.jspecify.annotations.NullMarked;
