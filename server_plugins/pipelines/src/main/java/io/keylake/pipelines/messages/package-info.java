/**
 * Messages of topics as changes of rows: what the documents of a format mean ({@code Envelope}).
 * Nothing of Spark or Kafka.
 */
@NullMarked
package io.keylake.pipelines.messages;

import org.jspecify.annotations.NullMarked;
