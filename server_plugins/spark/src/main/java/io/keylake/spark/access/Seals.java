package io.keylake.spark.access;

import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The words by which sessions say whose they are: this process draws one for each principal.
 *
 * @param byPrincipal of the principals of a policy
 */
record Seals(Map<String, String> byPrincipal) {
  Seals {
    byPrincipal = Map.copyOf(byPrincipal);
  }

  static Seals of(Policy policy) {
    return of(policy, principal -> Optional.empty());
  }

  /**
   * The seals after a change of the policy. Sessions of a principal that is gone are nobody's. A
   * principal that has lost a right of the server gets another seal, and with it each of its
   * sessions the settings of those without that right.
   */
  Seals changed(Policy before, Policy now) {
    return of(
        now,
        principal ->
            Stream.of(Right.FILES, Right.RUN_CODE)
                    .map(right -> Need.ofServer(right, ""))
                    .allMatch(
                        need -> now.allows(principal, need) || !before.allows(principal, need))
                ? Optional.ofNullable(byPrincipal.get(principal))
                : Optional.empty());
  }

  private static Seals of(Policy policy, Function<String, Optional<String>> kept) {
    return new Seals(
        policy.principals().stream()
            .collect(
                Collectors.toMap(
                    Function.identity(),
                    each -> kept.apply(each).orElseGet(() -> UUID.randomUUID().toString()))));
  }

  /** The seal of a principal; empty where the policy has no such one. */
  String of(String principal) {
    return byPrincipal.getOrDefault(principal, "");
  }

  /** The principal whose seal it is. */
  Optional<String> principal(String seal) {
    return byPrincipal.entrySet().stream()
        .filter(each -> each.getValue().equals(seal))
        .map(Map.Entry::getKey)
        .findFirst();
  }
}
