/** Equality deletes become positions: by a call, a task of maintenance, a job. */
@NullMarked
package io.keylake.plaindeletes.work;

import org.jspecify.annotations.NullMarked;
