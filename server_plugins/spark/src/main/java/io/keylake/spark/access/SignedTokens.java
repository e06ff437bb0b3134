package io.keylake.spark.access;

import io.jsonwebtoken.Claims;
import io.jsonwebtoken.JwtException;
import io.jsonwebtoken.JwtParser;
import io.jsonwebtoken.JwtParserBuilder;
import io.jsonwebtoken.Jwts;
import io.jsonwebtoken.security.Keys;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * JSON web tokens: the subject is the principal. A token without an end is refused, because nobody
 * could take it back.
 */
record SignedTokens(JwtParser parser) {
  private static final String BEGIN = "-----BEGIN PUBLIC KEY-----";
  private static final String END = "-----END PUBLIC KEY-----";

  /** Tokens that a key pair has signed. */
  static SignedTokens ofPublicKey(String pem, @Nullable String issuer, @Nullable String audience)
      throws GeneralSecurityException {
    String text = pem.replace(BEGIN, "").replace(END, "").replaceAll("\\s", "");
    X509EncodedKeySpec encoded = new X509EncodedKeySpec(Base64.getDecoder().decode(text));
    GeneralSecurityException failure = new GeneralSecurityException("no key");
    for (String algorithm : List.of("RSA", "EC", "Ed25519")) {
      try {
        PublicKey key = KeyFactory.getInstance(algorithm).generatePublic(encoded);
        return of(Jwts.parser().verifyWith(key), issuer, audience);
      } catch (GeneralSecurityException e) {
        failure = e; // a key of another algorithm
      }
    }
    throw failure;
  }

  /** Tokens that are signed with a secret that the server shares. */
  static SignedTokens ofSecret(byte[] secret, @Nullable String issuer, @Nullable String audience) {
    return of(Jwts.parser().verifyWith(Keys.hmacShaKeyFor(secret)), issuer, audience);
  }

  private static SignedTokens of(
      JwtParserBuilder builder, @Nullable String issuer, @Nullable String audience) {
    if (issuer != null) {
      builder.requireIssuer(issuer);
    }
    if (audience != null) {
      builder.requireAudience(audience);
    }
    return new SignedTokens(builder.build());
  }

  /** The subject of a token whose signature and time are right. */
  Optional<String> subject(String token) {
    try {
      Claims claims = parser.parseSignedClaims(token).getPayload();
      return claims.getExpiration() == null
          ? Optional.empty()
          : Optional.ofNullable(claims.getSubject());
    } catch (JwtException | IllegalArgumentException e) {
      return Optional.empty(); // whoever sent it is told that it is refused, and not why
    }
  }
}
