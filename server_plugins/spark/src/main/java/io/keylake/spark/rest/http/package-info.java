/**
 * Requests and answers of the REST catalog: headers, limits, and failures as errors of Iceberg's
 * protocol.
 */
@NullMarked
package io.keylake.spark.rest.http;

import org.jspecify.annotations.NullMarked;
