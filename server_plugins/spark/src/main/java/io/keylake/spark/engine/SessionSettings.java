package io.keylake.spark.engine;

import io.keylake.tables.GuestApi;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import io.keylake.tables.Spelling;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.commons.text.similarity.LevenshteinDistance;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.spark.SparkSQLProperties;
import org.apache.iceberg.spark.SparkTableUtil;
import org.apache.iceberg.util.PropertyUtil;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;
import scala.Function2;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** The settings of Spark that keylake follows, as the session of this thread has them. */
@GuestApi
public final class SessionSettings {
  /** The idempotency key of writes that name none themselves: statements in SQL cannot. */
  public static final String IDEMPOTENCY_KEY = "spark.keylake.write.idempotency-key";

  /** The offsets of writes that name none themselves. */
  public static final String OFFSETS = "spark.keylake.write.offsets";

  /** The result of a session's last write: reading it is cheaper than a query. */
  public static final String COMMITTED = "spark.keylake.write.committed";

  /** The rows that a write sorts on the driver at most, without a job. */
  public static final String DRIVER_ROWS = "spark.keylake.write.driver-rows";

  /** The version of the rows that a statement writes. */
  public static final String VERSION = "spark.keylake.write.version";

  /** The bytes of files that a look-up reads on the driver at most, without a job. */
  public static final String DRIVER_BYTES = "spark.keylake.read.driver-bytes";

  /** The setting by which reads compare the checksums of pages. */
  public static final String PAGE_CHECKSUMS = "spark.keylake.read.page-checksums";

  private static final List<String> VERBS = List.of("read", "write");
  private static final Pattern OURS = Pattern.compile("spark\\.keylake\\.([^.]*)(\\..*)?");
  private static final List<String> KNOWN =
      List.of(
          IDEMPOTENCY_KEY, OFFSETS, COMMITTED, DRIVER_ROWS, VERSION, DRIVER_BYTES, PAGE_CHECKSUMS);

  private SessionSettings() {}

  /** Names of columns may differ by case alone. */
  public static boolean isCaseSensitive() {
    return SQLConf.get().caseSensitiveAnalysis();
  }

  /** The comparison of names that Spark's own plans use. */
  public static Function2<String, String, Object> sameNames() {
    return SQLConf.get().resolver();
  }

  /** The zone in which times without one are meant. */
  public static String timeZone() {
    return SQLConf.get().sessionLocalTimeZone();
  }

  /** A setting of keylake's own; null where it is not set. */
  public static @Nullable String value(String name) {
    return value(SQLConf.get(), name);
  }

  /** A setting of keylake's own in a session; null where it is not set. */
  public static @Nullable String value(SparkSession session, String name) {
    return value(session.sessionState().conf(), name);
  }

  private static @Nullable String value(SQLConf settings, String name) {
    String set = settings.getConfString(name, null);
    String plain = withoutHyphens(name);
    String other = settings.getConfString(plain, null);
    if (set != null && other != null && !set.equals(other)) {
      throw new KeylakeException(
          Kind.DEFINITION,
          "the session has the settings %s and %s, which are one, with two values. RESET `%s` takes one away"
              .formatted(name, plain, name));
    }
    return set == null ? other : set;
  }

  /** The spelling that SQL takes without backticks: {@code SET spark.keylake.write.driverrows}. */
  private static String withoutHyphens(String name) {
    return name.replace("-", "");
  }

  /** A size that is set as Spark writes them, as 512m; a default where it is not set. */
  public static long bytes(String name, long otherwise) {
    String set = value(name);
    return set == null ? otherwise : JavaUtils.byteStringAsBytes(set);
  }

  /** A number; a default where it is not set. */
  public static long number(String name, long otherwise) {
    String set = value(name);
    try {
      return set == null ? otherwise : Long.parseLong(set.trim());
    } catch (NumberFormatException e) {
      throw new KeylakeException(
          Kind.DEFINITION, "setting %s is '%s'; it must be a whole number".formatted(name, set));
    }
  }

  /**
   * Refuses settings of reads and writes that keylake does not have: a misspelt idempotency key or
   * version would be passed over in silence.
   */
  public static void checkSpelling() {
    CollectionConverters.asJava(SQLConf.get().getAllConfs().keySet()).stream()
        .filter(SessionSettings::isOfReadsOrWrites)
        .filter(
            name ->
                KNOWN.stream()
                    .noneMatch(known -> known.equals(name) || withoutHyphens(known).equals(name)))
        .findFirst()
        .ifPresent(
            name -> {
              LevenshteinDistance distance = LevenshteinDistance.getDefaultInstance();
              String near =
                  Collections.min(KNOWN, Comparator.comparing(each -> distance.apply(each, name)));
              throw new KeylakeException(
                  Kind.DEFINITION,
                  "the session has the setting %s, which keylake does not know. Did you mean %s? RESET `%s` takes it away"
                      .formatted(name, near, name));
            });
  }

  private static boolean isOfReadsOrWrites(String setting) {
    Matcher ours = OURS.matcher(setting);
    return ours.matches()
        && (VERBS.contains(ours.group(1)) || Spelling.meant(ours.group(1), VERBS) != null);
  }

  /**
   * Refuses a write that the session stages instead of publishing it (Iceberg's
   * write-audit-publish), as the table allows it: it would be published.
   *
   * @param name of the table, as an error calls it
   */
  public static void checkPublishes(SparkSession session, Table table, String name) {
    if (!PropertyUtil.propertyAsBoolean(
        table.properties(), TableProperties.WRITE_AUDIT_PUBLISH_ENABLED, false)) {
      return;
    }
    for (String setting : List.of(SparkSQLProperties.WAP_ID, SparkSQLProperties.WAP_BRANCH)) {
      Option<String> value = session.conf().getOption(setting);
      if (value.isDefined()) {
        throw new KeylakeException(
            Kind.UNSUPPORTED,
            "the session stages its writes (%s is '%s'), which keyed table %s does not support; unset it, write to a branch such as branch_tmp_audit of the table, and publish that"
                .formatted(setting, value.get(), name));
      }
    }
  }

  public static int shufflePartitions() {
    return SQLConf.get().numShufflePartitions();
  }

  /** The size of shuffled data that is worth a task. */
  public static long bytesPerTask() {
    return (Long) SQLConf.get().getConf(SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES());
  }

  /** The least size of shuffled data that is a task of its own. */
  public static long leastBytesPerTask() {
    return (Long) SQLConf.get().getConf(SQLConf.COALESCE_PARTITIONS_MIN_PARTITION_SIZE());
  }

  /** Small partitions of a shuffle become one task. */
  public static boolean coalescesPartitions() {
    return SQLConf.get().coalesceShufflePartitionsEnabled();
  }

  /**
   * The size of files that is worth a task.
   *
   * @param session whose setting counts; a scan may be planned by a thread without one
   */
  public static long fileBytesPerTask(SparkSession session) {
    return JavaUtils.byteStringAsBytes(
        session.conf().get(SQLConf.FILES_MAX_PARTITION_BYTES().key()));
  }

  /**
   * The branch that Iceberg would read.
   *
   * @param branch that the statement names; null for none
   */
  public static @Nullable String readBranch(
      SparkSession session,
      Table table,
      @Nullable String branch,
      CaseInsensitiveStringMap options) {
    return SparkTableUtil.determineReadBranch(session, table, branch, options);
  }

  /**
   * The branch that Iceberg would write to.
   *
   * @param branch that the statement names; null for none
   */
  public static @Nullable String writeBranch(
      SparkSession session,
      Table table,
      @Nullable String branch,
      CaseInsensitiveStringMap options) {
    return SparkTableUtil.determineWriteBranch(session, table, branch, options);
  }
}
