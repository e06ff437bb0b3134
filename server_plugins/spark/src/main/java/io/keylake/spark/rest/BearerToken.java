package io.keylake.spark.rest;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.spark.rest.http.RequestRefused;
import io.keylake.tables.KeylakeException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import org.apache.spark.SparkConf;
import org.jspecify.annotations.Nullable;

/** The token of Connect, which requests have to the catalog, too. */
final class BearerToken {
  private static final String SETTING = "spark.connect.authenticate.token";
  private static final String VARIABLE = "SPARK_CONNECT_AUTHENTICATE_TOKEN";
  private static final String SCHEME = "Bearer ";

  private final byte[] expected;

  private BearerToken(String token) {
    this.expected = token.getBytes(StandardCharsets.UTF_8);
  }

  /** The token that Connect takes from the same places; a server without one is refused. */
  static BearerToken of(SparkConf conf) {
    String variable = System.getenv(VARIABLE);
    String token = conf.get(SETTING, variable == null ? "" : variable);
    if (token.isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "the catalog for other engines (%s) is not served without a token, which Connect then wants, too; put one into %s of the environment"
              .formatted(CatalogServer.PORT, VARIABLE));
    }
    return new BearerToken(token);
  }

  /**
   * Refuses a request without the token, in a time that does not depend on how much of it is right.
   *
   * @param authorization the header of that name, null where there is none
   */
  void check(@Nullable String authorization) {
    String header = authorization == null ? "" : authorization;
    boolean hasScheme = header.regionMatches(true, 0, SCHEME, 0, SCHEME.length());
    byte[] given =
        (hasScheme ? header.substring(SCHEME.length()).strip() : "")
            .getBytes(StandardCharsets.ISO_8859_1);
    if (!MessageDigest.isEqual(expected, given)) {
      throw new RequestRefused(
          401,
          "NotAuthorizedException",
          hasScheme
              ? "the token is not that of this server; give the one that its clients of Connect have"
              : "the request has no token; send the header Authorization: Bearer with the one that clients of Connect have");
    }
  }
}
