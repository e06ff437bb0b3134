package io.keylake.pipelines.kafka;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.UNAVAILABLE;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.keylake.tables.KeylakeException;
import java.nio.file.NoSuchFileException;
import java.security.GeneralSecurityException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Collectors;
import javax.security.auth.login.LoginException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.jspecify.annotations.Nullable;

/** The brokers of Kafka, asked about the partitions of topics. */
final class Brokers {
  private static final String SERVERS = "bootstrap.servers";
  // Long enough for a broker that starts again, and shorter than people wait.
  private static final Map<String, Object> LIMITS =
      Map.of("request.timeout.ms", "10000", "default.api.timeout.ms", "20000");

  /** The end of the year 9999: producers send times in other units. */
  private static final long MOST_MILLIS = 253_402_300_799_999L;

  private Brokers() {}

  /**
   * A partition of a topic.
   *
   * @param latest behind the last message that a reader may see
   * @param at of the first message that is not older than the time asked for; the latest where
   *     there is none, null where no time was asked for
   * @param newest the time of the newest message; null where there is none that a calendar has
   * @param topicId of the topic, which another one of its name has not; null where brokers have
   *     none
   * @param written behind the last message, also where a transaction holds it back
   */
  record Offsets(
      String topic,
      int partition,
      long earliest,
      long latest,
      @Nullable Long at,
      @Nullable Instant newest,
      @Nullable String topicId,
      long written) {}

  /**
   * @param topics names with commas between; used if there is no pattern
   * @param at in milliseconds
   */
  static List<Offsets> offsets(
      String settings, String topics, @Nullable String pattern, @Nullable Long at) {
    Map<String, Object> all = new HashMap<>(LIMITS);
    all.putAll(settings(settings));
    String where = String.valueOf(all.get(SERVERS));
    try (Admin admin = Admin.create(all)) {
      List<String> names = pattern == null ? named(topics) : matching(admin, pattern);
      boolean seesAll = "read_uncommitted".equals(all.get("isolation.level"));
      return offsets(
          admin,
          names,
          at,
          seesAll ? IsolationLevel.READ_UNCOMMITTED : IsolationLevel.READ_COMMITTED);
    } catch (NoClassDefFoundError e) {
      throw new KeylakeException(
          UNSUPPORTED,
          "the server has no jars for Kafka; start it with spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:<its version of Spark>");
    } catch (ExecutionException e) {
      throw meant(e.getCause() == null ? e : e.getCause(), where);
    } catch (KafkaException e) {
      throw meant(e.getCause() == null ? e : e.getCause(), where);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw meant(e, where);
    }
  }

  /**
   * The error that a cause means: a wrong topic or setting, which does not pass by itself, or
   * brokers that do not answer.
   */
  static KeylakeException meant(Throwable said, String where) {
    Throwable cause = said;
    while (!isMeant(cause) && cause.getCause() != null) {
      cause = cause.getCause();
    }
    cause = isMeant(cause) ? cause : said;
    if (cause instanceof UnknownTopicOrPartitionException) {
      return new KeylakeException(
          NOT_FOUND,
          "Kafka at %s has no such topic: %s; create it, or name another one"
              .formatted(where, cause.getMessage()));
    }
    return isMeant(cause) && !isUnresolved(cause)
        ? new KeylakeException(
            DEFINITION,
            "Kafka at %s cannot be read with these settings: %s; correct them, or what the brokers allow"
                .formatted(where, cause.getMessage()))
        : new KeylakeException(
            UNAVAILABLE,
            "Kafka at %s does not answer: %s; check the addresses, the security settings, and that the brokers run"
                .formatted(where, cause.getMessage()));
  }

  private static boolean isMeant(Throwable cause) {
    return cause instanceof UnknownTopicOrPartitionException
        || cause instanceof AuthenticationException
        || cause instanceof AuthorizationException
        || cause instanceof ConfigException
        || cause instanceof LoginException
        || cause instanceof GeneralSecurityException
        || cause instanceof NoSuchFileException;
  }

  /** Names of hosts that nobody knows now may be known later. */
  private static boolean isUnresolved(Throwable cause) {
    return cause instanceof ConfigException
        && String.valueOf(cause.getMessage()).contains("No resolvable bootstrap urls");
  }

  private static Map<String, Object> settings(String json) {
    try {
      Map<String, Object> found =
          new JsonMapper().readValue(json, new TypeReference<Map<String, Object>>() {});
      if (found != null && found.get(SERVERS) != null) {
        return found;
      }
    } catch (JsonProcessingException e) {
      // said below; the text may hold a password
    }
    throw new KeylakeException(
        DEFINITION,
        "the settings are no JSON object with addresses of brokers; write {\"%s\": \"host:9092\"}"
            .formatted(SERVERS));
  }

  private static List<String> named(String topics) {
    List<String> names =
        Arrays.stream(topics.split(","))
            .map(String::strip)
            .filter(each -> !each.isEmpty())
            .toList();
    if (names.isEmpty()) {
      throw new KeylakeException(
          DEFINITION, "no topic was named; give topics => 'orders,clicks', or a pattern");
    }
    return names;
  }

  private static List<String> matching(Admin admin, String pattern)
      throws ExecutionException, InterruptedException {
    try {
      Pattern wanted = Pattern.compile(pattern);
      return admin.listTopics().names().get().stream()
          .filter(name -> wanted.matcher(name).matches())
          .sorted()
          .toList();
    } catch (PatternSyntaxException e) {
      throw new KeylakeException(
          DEFINITION,
          "'%s' is no regular expression: %s; write one such as 'shop[.].*'"
              .formatted(pattern, e.getDescription()));
    }
  }

  /**
   * @param seen which messages a reader may see
   */
  private static List<Offsets> offsets(
      Admin admin, List<String> topics, @Nullable Long at, IsolationLevel seen)
      throws ExecutionException, InterruptedException {
    List<TopicPartition> partitions = new ArrayList<>();
    Map<String, String> ids = new HashMap<>();
    admin
        .describeTopics(topics)
        .allTopicNames()
        .get()
        .forEach(
            (topic, described) -> {
              if (!described.topicId().equals(Uuid.ZERO_UUID)) {
                ids.put(topic, described.topicId().toString());
              }
              described
                  .partitions()
                  .forEach(each -> partitions.add(new TopicPartition(topic, each.partition())));
            });
    // All are asked for before the first is waited for.
    ListOffsetsResult earliest = ask(admin, partitions, OffsetSpec.earliest(), seen);
    ListOffsetsResult latest = ask(admin, partitions, OffsetSpec.latest(), seen);
    ListOffsetsResult written =
        ask(admin, partitions, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED);
    ListOffsetsResult newest = ask(admin, partitions, OffsetSpec.maxTimestamp(), seen);
    ListOffsetsResult since =
        at == null ? null : ask(admin, partitions, OffsetSpec.forTimestamp(at), seen);
    List<Offsets> found = new ArrayList<>();
    for (TopicPartition each : partitions) {
      long end = latest.partitionResult(each).get().offset();
      Long from = since == null ? null : (Long) since.partitionResult(each).get().offset();
      found.add(
          new Offsets(
              each.topic(),
              each.partition(),
              earliest.partitionResult(each).get().offset(),
              end,
              from != null && from < 0 ? (Long) end : from,
              newest(newest, each),
              ids.get(each.topic()),
              written.partitionResult(each).get().offset()));
    }
    found.sort(java.util.Comparator.comparing(Offsets::topic).thenComparingInt(Offsets::partition));
    return found;
  }

  private static ListOffsetsResult ask(
      Admin admin, List<TopicPartition> partitions, OffsetSpec which, IsolationLevel seen) {
    return admin.listOffsets(
        partitions.stream().collect(Collectors.toMap(Function.identity(), each -> which)),
        new ListOffsetsOptions(seen));
  }

  private static @Nullable Instant newest(ListOffsetsResult asked, TopicPartition partition)
      throws ExecutionException, InterruptedException {
    try {
      long millis = asked.partitionResult(partition).get().timestamp();
      return millis < 0 || millis > MOST_MILLIS ? null : Instant.ofEpochMilli(millis);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof UnsupportedVersionException) { // of brokers before Kafka 3.0
        return null;
      }
      throw e;
    }
  }
}
