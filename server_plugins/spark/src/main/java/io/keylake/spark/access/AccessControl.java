package io.keylake.spark.access;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import io.keylake.tables.history.Committer;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.sql.SparkSession;
import org.jspecify.annotations.Nullable;
import scala.Option;

/**
 * The access control of a server, which it has where a policy is configured:
 *
 * <ol>
 *   <li>A request of a client says by its token which principal asks. Its session has a seal, which
 *       this process draws for each principal, as a setting that sessions made of it take over.
 *   <li>A plan is asked which rights it needs, after it is analyzed; a procedure when it is called.
 *   <li>A session without a seal is nobody's, and nothing is allowed to it.
 * </ol>
 */
public final class AccessControl {
  /** The file of the policy. */
  public static final String POLICY = "spark.keylake.access.policy";

  /** The setting of a session that says whose it is. */
  public static final String SEAL = "spark.keylake.access.session";

  static final String NOBODY = "nobody";

  /** The setting of Spark Connect that names the classes which see requests. */
  private static final String INTERCEPTORS = "spark.connect.grpc.interceptor.classes";

  /** Stands by its name, because its superclass is in no server without Connect. */
  private static final String INTERCEPTOR = "io.keylake.spark.guard.requests.PrincipalInterceptor";

  private static @Nullable AccessControl ofProcess;
  private static boolean isKnown;

  private final PolicyWatch watch;

  private AccessControl(PolicyWatch watch) {
    this.watch = watch;
  }

  /**
   * Reads the policy that the settings of the server name, if there is one. The server then looks
   * at all requests.
   */
  public static synchronized @Nullable AccessControl start(SparkConf conf) {
    if (!isKnown) {
      String file = conf.get(POLICY, "");
      if (!file.isEmpty()) {
        checkNoCommonToken(conf);
        ofProcess = new AccessControl(new PolicyWatch(Path.of(file)));
        AuditLog.open();
        Committer.knownBy(AccessControl::principalOfThread);
        String others = conf.get(INTERCEPTORS, "");
        conf.set(INTERCEPTORS, others.isEmpty() ? INTERCEPTOR : INTERCEPTOR + "," + others);
      }
      isKnown = true;
    }
    return ofProcess;
  }

  /** The same, of a server that has begun; null where no policy is configured. */
  public static synchronized @Nullable AccessControl ofServer() {
    if (isKnown) {
      return ofProcess;
    }
    Option<SparkContext> server = SparkContext$.MODULE$.getActive();
    return server.isEmpty() ? null : start(server.get().conf());
  }

  /** A token that all clients have would let none of them in that has its own. */
  private static void checkNoCommonToken(SparkConf conf) {
    if (conf.contains("spark.connect.authenticate.token")
        || System.getenv("SPARK_CONNECT_AUTHENTICATE_TOKEN") != null) {
      throw new KeylakeException(
          Kind.DEFINITION,
          "the server has an access policy (%s) and a token for all clients; principals have tokens of their own: take SPARK_CONNECT_AUTHENTICATE_TOKEN and spark.connect.authenticate.token away"
              .formatted(POLICY));
    }
  }

  private Policy policy() {
    return watch.now().policy();
  }

  /** The policy that is in force, to be compared with that of another time. */
  public Object state() {
    return policy();
  }

  /** The file of the policy is refused as it is now, so that an earlier one is in force. */
  public boolean isPolicyRefused() {
    return watch.isRefused();
  }

  /** The principal that has a token. */
  public Optional<String> principal(String token) {
    return policy().principal(token);
  }

  /** The value of {@link #SEAL} in sessions of a principal. */
  public String seal(String principal) {
    return watch.now().seals().of(principal);
  }

  /** A principal has a right that concerns no table. */
  public boolean may(String principal, Right right) {
    return policy().allows(principal, Need.ofServer(right, ""));
  }

  /** The principal of a session; nobody, who has no rights, where it has no seal. */
  public String principalOf(SparkSession session) {
    Option<String> seal = session.conf().getOption(SEAL);
    return seal.isEmpty() ? NOBODY : watch.now().seals().principal(seal.get()).orElse(NOBODY);
  }

  /** The principal for whom this thread works; null for the server itself. */
  private @Nullable String acting() {
    Option<SparkSession> session = SparkSession.getActiveSession();
    return ServerWork.isOwn() || session.isEmpty() ? null : principalOf(session.get());
  }

  /** The principal for whom this thread works; null where no policy says who there is. */
  public static @Nullable String principalOfThread() {
    AccessControl control = ofServer();
    return control == null ? null : control.acting();
  }

  /** The part of a table that a principal sees; empty where it may not read it. */
  public Optional<Narrowing> narrowing(String principal, String table, @Nullable String branch) {
    return policy().narrowing(principal, table, branch);
  }

  /** Lists show the table to the session of this thread, which can name it. */
  public static boolean isSeen(String table) {
    AccessControl control = ofServer();
    return control == null || control.isAllowedToActing(of -> control.policy().isSeen(of, table));
  }

  /** The session of this thread may see a table in the namespace. */
  public static boolean isNamespaceSeen(String namespace) {
    AccessControl control = ofServer();
    return control == null
        || control.isAllowedToActing(of -> control.policy().isNamespaceSeen(of, namespace));
  }

  private boolean isAllowedToActing(Predicate<String> seen) {
    String principal = acting();
    return principal == null || seen.test(principal);
  }

  /** Refuses a right to the session of this thread; the server itself has all of them. */
  public static void requireOfThread(Need need) {
    AccessControl control = ofServer();
    if (control != null) {
      Optional.ofNullable(control.acting()).ifPresent(of -> control.require(of, need));
    }
  }

  /** Refuses facts of a table to the session of this thread where no rule names the table. */
  public static void requireSeen(String table, String subject) {
    AccessControl control = ofServer();
    if (control != null) {
      Optional.ofNullable(control.acting())
          .ifPresent(of -> control.requireSeen(of, table, subject));
    }
  }

  /** Refuses facts of a table to a principal where no rule names the table. */
  public void requireSeen(String principal, String table, String subject) {
    if (!policy().isSeen(principal, table)) {
      throw denied(principal, Need.of(Right.READ, table, subject));
    }
  }

  /** Refuses what no rule allows to a principal. */
  public void require(String principal, Need need) {
    boolean isAllowed = policy().allows(principal, need);
    AuditLog.write(principal, need, isAllowed);
    if (!isAllowed) {
      throw denied(principal, need);
    }
  }

  /** Refuses a request that concerns no table: code of users, and files. */
  public void require(String principal, Right right, String subject) {
    require(principal, Need.ofServer(right, subject));
  }

  private KeylakeException denied(String principal, Need need) {
    boolean isNarrowed =
        policy().allows(principal, need.ofColumns(Set.of())); // of some rows or columns
    String branch =
        need.branch() == null || need.branch().equals(Need.MAIN)
            ? ""
            : ", branch '%s'".formatted(need.branch());
    String why =
        isNarrowed
            ? "a rule gives it the right '%s' for some rows or columns, and this takes others or all of them"
            : "no rule of the access policy gives it the right '%s'";
    return refusal(
        "%s may not %s %s%s (%s): %s"
            .formatted(
                principal,
                need.right().verb(),
                need.table(),
                branch,
                need.subject(),
                why.formatted(need.right().word())));
  }

  /** The refusal of a request, as people see it. */
  public static KeylakeException refusal(String sentence) {
    return new KeylakeException(
        Kind.ACCESS_DENIED, sentence + "; ask whoever keeps the policy of the server");
  }
}
