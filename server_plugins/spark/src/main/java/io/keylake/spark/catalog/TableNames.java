package io.keylake.spark.catalog;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.Experiment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.spark.sql.catalyst.util.QuotingUtils;

/** Names that a keyed table can have: its files lie in folders of these names. */
public final class TableNames {
  /**
   * The bytes of the name of a folder in most file systems, with room for what is put behind a name
   * that is taken.
   */
  private static final int MOST_BYTES = 240;

  private TableNames() {}

  /** Refuses a name that cannot be that of a folder, or that catalogs would take apart. */
  public static void check(TableIdentifier ident) {
    parts(ident).forEach(TableNames::checkPart);
    for (String level : ident.namespace().levels()) {
      if (level.contains(".")) {
        throw new KeylakeException(
            DEFINITION,
            "namespace '%s' has a dot in it, which catalogs take for two namespaces"
                .formatted(level));
      }
    }
  }

  /** The levels of the namespace, and the name. */
  public static Stream<String> parts(TableIdentifier ident) {
    return Stream.concat(Arrays.stream(ident.namespace().levels()), Stream.of(ident.name()));
  }

  /** The name of a table with its catalog, every part quoted. */
  public static String inSql(String catalog, TableIdentifier ident) {
    return Stream.concat(Stream.of(catalog), parts(ident))
        .map(QuotingUtils::quoteIdentifier)
        .collect(Collectors.joining("."));
  }

  /** The experiments that the last part of a name names, with commas between them. */
  public static Optional<List<String>> experiments(String part) {
    return part.startsWith(Experiment.BRANCH)
        ? Optional.of(List.of(part.substring(Experiment.BRANCH.length()).split(",", -1)))
        : Optional.empty();
  }

  private static void checkPart(String part) {
    if (part.isBlank()
        || part.equals(".")
        || part.equals("..")
        || part.contains("/")
        || part.chars().anyMatch(Character::isISOControl)) {
      throw new KeylakeException(
          DEFINITION,
          "'%s' cannot be part of a table's name: it is blank, '.' or '..', or has a slash or a control character"
              .formatted(part));
    }
    int bytes = part.getBytes(StandardCharsets.UTF_8).length;
    if (bytes > MOST_BYTES) {
      throw new KeylakeException(
          DEFINITION,
          "'%s...' cannot be part of a table's name: it has %d bytes, and the folders and catalogs of tables take %d; take a shorter one"
              .formatted(part.substring(0, 20), bytes, MOST_BYTES));
    }
  }
}
