/** Topics of Kafka: their messages as changes of rows, and how far their partitions go. */
@NullMarked
package io.keylake.pipelines.kafka;

import org.jspecify.annotations.NullMarked;
