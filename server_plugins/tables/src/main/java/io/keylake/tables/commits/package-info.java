/**
 * Makes every commit: retries, conflicts, idempotency, and which files are deleted after which
 * failure.
 */
@NullMarked
package io.keylake.tables.commits;

import org.jspecify.annotations.NullMarked;
