/**
 * Bytes of messages as documents of JSON, whose values have the forms that rows of changes have:
 * JSON, with the schemas of Kafka Connect or without, and Avro.
 */
@NullMarked
package io.keylake.pipelines.encodings;

import org.jspecify.annotations.NullMarked;
