/** Who may do what: the policy of a server, the principals of its sessions, and what they ask. */
@NullMarked
package io.keylake.spark.access;

import org.jspecify.annotations.NullMarked;
