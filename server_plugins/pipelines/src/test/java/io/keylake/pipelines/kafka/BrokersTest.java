package io.keylake.pipelines.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.junit.jupiter.api.Test;

class BrokersTest {
  /** Pipelines wait for brokers that do not answer, and for nothing else. */
  @Test
  void brokersThatRefuseAreNotBrokersThatDoNotAnswer() {
    Map<Throwable, KeylakeException.Kind> kinds =
        Map.of(
            new TimeoutException("Call timed out"), KeylakeException.Kind.UNAVAILABLE,
            new ConfigException("No resolvable bootstrap urls given in bootstrap.servers"),
                KeylakeException.Kind.UNAVAILABLE,
            new ConfigException("Invalid value x for configuration security.protocol"),
                KeylakeException.Kind.DEFINITION,
            new SaslAuthenticationException("Authentication failed"),
                KeylakeException.Kind.DEFINITION,
            new TopicAuthorizationException("Not authorized"), KeylakeException.Kind.DEFINITION,
            new UnknownTopicOrPartitionException("a"), KeylakeException.Kind.NOT_FOUND);
    kinds.forEach(
        (cause, kind) -> {
          KeylakeException meant = Brokers.meant(cause, "host:9092");
          assertEquals(kind, meant.kind(), cause.toString());
          assertTrue(String.valueOf(meant.getMessage()).contains("Kafka at host:9092"));
        });
  }
}
