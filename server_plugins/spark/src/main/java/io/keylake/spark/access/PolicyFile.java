package io.keylake.spark.access;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import io.keylake.tables.Spelling;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A policy as people write it, in YAML. A word that it does not know is refused. */
final class PolicyFile {
  /** The group that all principals of a policy are in. */
  private static final String EVERYONE = "everyone";

  private static final List<String> TOP = List.of("principals", "signed", "groups", "rules");
  private static final List<String> OF_PRINCIPAL = List.of("token_sha256", "signed");
  private static final List<String> OF_SIGNED =
      List.of("public_key", "secret", "issuer", "audience");
  private static final List<String> OF_RULE =
      List.of("who", "tables", "branches", "may", "columns", "rows");
  private static final List<String> OF_COLUMNS = List.of("only", "except", "mask");

  private final Path file;
  private final Map<String, Set<String>> groups = new LinkedHashMap<>();
  private final List<String> principals = new ArrayList<>();
  private final List<Path> files = new ArrayList<>();

  private PolicyFile(Path file) {
    this.file = file;
    files.add(file);
  }

  static Policy read(Path file) {
    try {
      YAMLMapper yaml = new YAMLMapper(new YAMLFactory());
      yaml.enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION);
      return new PolicyFile(file).policy(yaml.readTree(Files.readString(file)));
    } catch (JsonProcessingException e) {
      throw new PolicyFile(file)
          .refused("it is not YAML: " + e.getOriginalMessage().replaceAll("\\s+", " "));
    } catch (IOException e) {
      throw new PolicyFile(file)
          .refused("it cannot be read (" + e.getClass().getSimpleName() + ")");
    }
  }

  private Policy policy(JsonNode top) {
    checkWords("the policy", top, TOP);
    Map<String, String> tokens = new LinkedHashMap<>();
    List<String> signed = new ArrayList<>();
    checkNames("principals", top.path("principals"));
    checkNames("groups", top.path("groups"));
    top.path("principals").properties().forEach(each -> principal(each, tokens, signed));
    if (principals.isEmpty()) {
      throw refused("it names no principals; write principals: with a name and a token_sha256");
    }
    SignedTokens key = top.has("signed") ? signed(top.get("signed")) : null;
    if (key == null && !signed.isEmpty()) {
      throw refused(
          "principal %s has signed tokens, and there is no key; write signed: with public_key or secret"
              .formatted(signed.get(0)));
    }
    groups.put(EVERYONE, Set.copyOf(principals));
    top.path("groups").properties().forEach(this::group);
    List<Rule> rules = new ArrayList<>();
    for (JsonNode rule : top.path("rules")) {
      rules.add(rule(rules.size() + 1, rule));
    }
    return new Policy(principals, tokens, Set.copyOf(signed), key, rules, files);
  }

  private void principal(
      Map.Entry<String, JsonNode> named, Map<String, String> tokens, List<String> signed) {
    String name = named.getKey();
    if (!name.matches("[A-Za-z0-9_.@-]+")) {
      throw refused(
          "'%s' is no name of a principal; use letters, digits, and . _ @ -".formatted(name));
    }
    checkWords("principal " + name, named.getValue(), OF_PRINCIPAL);
    principals.add(name);
    String digest = text(named.getValue(), "token_sha256");
    if (named.getValue().path("signed").asBoolean(false)) {
      signed.add(name);
    } else if (digest == null) {
      throw refused(
          "principal %s has no token; write token_sha256: with the SHA-256 of its token, or signed: true"
              .formatted(name));
    }
    if (digest == null) {
      return;
    }
    if (!digest.matches("[0-9a-fA-F]{64}")) {
      throw refused(
          "token_sha256 of principal %s is no SHA-256, which has 64 digits and letters from a to f; 'keylake token' prints a new token and its SHA-256"
              .formatted(name));
    }
    String other = tokens.put(digest.toLowerCase(java.util.Locale.ROOT), name);
    if (other != null) {
      throw refused("principals %s and %s have the same token".formatted(other, name));
    }
  }

  private SignedTokens signed(JsonNode node) {
    checkWords("signed", node, OF_SIGNED);
    String publicKey = text(node, "public_key");
    String secret = text(node, "secret");
    if ((publicKey == null) == (secret == null)) {
      throw refused("signed: needs a file in public_key or one in secret, and not both");
    }
    Path keyFile = file.resolveSibling(publicKey == null ? secret : publicKey);
    files.add(keyFile);
    try {
      String issuer = text(node, "issuer");
      String audience = text(node, "audience");
      return publicKey == null
          ? SignedTokens.ofSecret(
              Files.readString(keyFile).strip().getBytes(StandardCharsets.UTF_8), issuer, audience)
          : SignedTokens.ofPublicKey(Files.readString(keyFile), issuer, audience);
    } catch (IOException e) {
      throw refused("the key of signed tokens, %s, cannot be read".formatted(keyFile));
    } catch (GeneralSecurityException | RuntimeException e) {
      throw refused(
          "%s is no key for signed tokens; it has to be a public key in PEM, or a secret of at least 32 characters"
              .formatted(keyFile));
    }
  }

  private void group(Map.Entry<String, JsonNode> named) {
    if (groups.containsKey(named.getKey()) || principals.contains(named.getKey())) {
      throw refused("the name %s is taken by a group or a principal".formatted(named.getKey()));
    }
    groups.put(named.getKey(), members("group " + named.getKey(), named.getValue()));
  }

  private Set<String> members(String of, JsonNode node) {
    Set<String> members = new HashSet<>();
    for (String name : texts(of, node)) {
      if (principals.contains(name)) {
        members.add(name);
      } else if (groups.containsKey(name)) {
        members.addAll(groups.get(name));
      } else {
        List<String> known = new ArrayList<>(principals);
        known.addAll(groups.keySet());
        throw refused(
            "%s names %s, which is no principal and no group%s"
                .formatted(of, name, near(name, known)));
      }
    }
    return members;
  }

  private Rule rule(int number, JsonNode node) {
    String of = "rule " + number;
    checkWords(of, node, OF_RULE);
    Set<String> who = members(of, node.path("who"));
    Set<Right> may = new HashSet<>();
    for (String word : texts(of, node.path("may"))) {
      may.add(
          Right.of(word)
              .orElseThrow(
                  () ->
                      refused(
                          "%s has the right %s, which there is not%s"
                              .formatted(of, word, near(word, Right.words())))));
    }
    if (who.isEmpty() || may.isEmpty()) {
      throw refused("%s needs who: and may:, each with one name at least".formatted(of));
    }
    boolean isOfServer = may.stream().allMatch(Right::isOfServer);
    if (isOfServer == node.has("tables")) {
      throw refused(
          isOfServer
              ? of + " has tables, and its rights concern the server; leave tables out"
              : of + " needs tables: with patterns such as lake.sales.*");
    }
    Narrowing narrowing = narrowing(of, node);
    checkNarrowed(of, may, narrowing);
    return new Rule(
        who,
        texts(of, node.path("tables")).stream().map(Pattern::of).toList(),
        node.has("branches")
            ? texts(of, node.path("branches")).stream().map(Pattern::of).toList()
            : List.of(Pattern.ALL),
        may,
        narrowing);
  }

  /** Rows narrow reads only, columns also writes; other rights are for whole tables. */
  private void checkNarrowed(String of, Set<Right> may, Narrowing narrowing) {
    boolean isRead = may.equals(Set.of(Right.READ));
    boolean isReadOrWrite = Set.of(Right.READ, Right.WRITE).containsAll(may);
    if (narrowing.rows() != null && !isRead) {
      throw refused(
          "%s has rows:, which narrow the right to read and no other; give the others in a rule of their own"
              .formatted(of));
    }
    if (!narrowing.isNone() && !isReadOrWrite) {
      throw refused(
          "%s has columns:, which narrow the rights to read and to write and no others; give those in a rule of their own"
              .formatted(of));
    }
  }

  private Narrowing narrowing(String of, JsonNode rule) {
    JsonNode columns = rule.path("columns");
    checkWords("columns of " + of, columns, OF_COLUMNS);
    Map<String, String> masks = new LinkedHashMap<>();
    columns
        .path("mask")
        .properties()
        .forEach(mask -> masks.put(mask.getKey(), mask.getValue().asText()));
    checkQuotes(of, text(rule, "rows"));
    masks.values().forEach(mask -> checkQuotes(of, mask));
    List<String> only = texts(of, columns.path("only"));
    List<String> except = texts(of, columns.path("except"));
    if (!only.isEmpty() && !except.isEmpty()) {
      throw refused("columns of %s are only: or except:, and not both".formatted(of));
    }
    return new Narrowing(text(rule, "rows"), Set.copyOf(only), Set.copyOf(except), masks);
  }

  /** A setting of a session makes names of texts in double quotes. */
  private void checkQuotes(String of, @Nullable String expression) {
    if (expression != null && expression.indexOf('"') >= 0) {
      throw refused(
          "%s has %s, with double quotes, of which a session can make a name; write texts in single quotes"
              .formatted(of, expression));
    }
  }

  private void checkWords(String of, JsonNode node, List<String> known) {
    if (!node.isObject() && !node.isMissingNode() && !node.isNull()) {
      throw refused("%s has to be names with values: %s".formatted(of, String.join(", ", known)));
    }
    node.fieldNames()
        .forEachRemaining(
            word -> {
              if (!known.contains(word)) {
                throw refused(
                    "%s has the word %s, which is unknown there%s"
                        .formatted(of, word, near(word, known)));
              }
            });
  }

  private void checkNames(String of, JsonNode node) {
    if (!node.isObject() && !node.isMissingNode()) {
      throw refused("%s has to be names with values".formatted(of));
    }
  }

  private static String near(String given, Collection<String> known) {
    String meant = Spelling.meant(given, known);
    return meant == null
        ? "; there are " + String.join(", ", known)
        : ". Did you mean %s?".formatted(meant);
  }

  private @Nullable String text(JsonNode node, String name) {
    JsonNode found = node.path(name);
    if (!found.isMissingNode() && !found.isTextual()) {
      throw refused("%s has to be a text in quotes".formatted(name));
    }
    return found.isMissingNode() ? null : found.asText();
  }

  /** Texts in a list, or one of them alone. */
  private List<String> texts(String of, JsonNode node) {
    if (node.isTextual()) {
      return List.of(node.asText());
    }
    List<String> texts = new ArrayList<>();
    for (JsonNode each : node) {
      if (!each.isTextual()) {
        throw refused("%s has %s in a list of names; write it in quotes".formatted(of, each));
      }
      texts.add(each.asText());
    }
    return texts;
  }

  private KeylakeException refused(String why) {
    return new KeylakeException(
        Kind.DEFINITION, "the access policy %s is refused: %s".formatted(file, why));
  }
}
