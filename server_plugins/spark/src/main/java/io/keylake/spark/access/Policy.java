package io.keylake.spark.access;

import com.google.common.hash.Hashing;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The rules of who may do what. Nothing is allowed that no rule allows. Rules add up: one that
 * gives all of a table outweighs those that give a part; of several parts the first of the file is
 * shown.
 *
 * @param tokens principals by the SHA-256 of their tokens, in lower-case hex
 * @param signed principals whose tokens are signed
 * @param key of signed tokens; null where there are none
 * @param files that say all this: the policy itself, and the key
 */
record Policy(
    List<String> principals,
    Map<String, String> tokens,
    Set<String> signed,
    @Nullable SignedTokens key,
    List<Rule> rules,
    List<Path> files) {
  Policy {
    principals = List.copyOf(principals);
    tokens = Map.copyOf(tokens);
    signed = Set.copyOf(signed);
    rules = List.copyOf(rules);
    files = List.copyOf(files);
  }

  /** The principal that has a token. */
  Optional<String> principal(String token) {
    String digest = Hashing.sha256().hashString(token, StandardCharsets.UTF_8).toString();
    String known = tokens.get(digest);
    return known != null || key == null
        ? Optional.ofNullable(known)
        : key.subject(token).filter(signed::contains);
  }

  /** A rule gives the principal what it needs. */
  boolean allows(String principal, Need need) {
    return rulesFor(principal, need).anyMatch(rule -> rule.isWideEnough(need));
  }

  /** The part of a table that a principal sees; empty where it may not read it. */
  Optional<Narrowing> narrowing(String principal, String table, @Nullable String branch) {
    List<Narrowing> found =
        rulesFor(principal, Need.ofBranch(Right.READ, table, branch, ""))
            .map(Rule::narrowing)
            .toList();
    return found.contains(Narrowing.NONE)
        ? Optional.of(Narrowing.NONE)
        : found.stream().findFirst();
  }

  private Stream<Rule> rulesFor(String principal, Need need) {
    return rules.stream()
        .filter(rule -> rule.gives(principal, need.right()))
        .filter(
            rule ->
                need.right().isOfServer()
                    || (rule.isOf(need.table()) && rule.isOfBranch(need.branch())));
  }

  /** A principal with any right on a table knows it, and lists show it. */
  boolean isSeen(String principal, String table) {
    return rulesOf(principal).anyMatch(rule -> rule.isOf(table));
  }

  /** A table that the principal sees may be in the namespace. */
  boolean isNamespaceSeen(String principal, String namespace) {
    return rulesOf(principal)
        .flatMap(rule -> rule.tables().stream())
        .anyMatch(pattern -> pattern.canMatchBelow(namespace + "."));
  }

  private Stream<Rule> rulesOf(String principal) {
    return rules.stream().filter(rule -> rule.who().contains(principal) && rule.concernsTables());
  }
}
