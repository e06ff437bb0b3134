/**
 * How equality deletes are turned into positions by a server: a call, a task of maintenance, a job.
 */
@NullMarked
package io.keylake.plaindeletes.work;

import org.jspecify.annotations.NullMarked;
