/** The access policy in plans: rights that statements take, rows and columns that are shown. */
@NullMarked
package io.keylake.spark.guard.plans;

import org.jspecify.annotations.NullMarked;
