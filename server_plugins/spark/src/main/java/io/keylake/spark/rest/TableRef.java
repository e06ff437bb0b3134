package io.keylake.spark.rest;

import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;

/**
 * A branch or a tag, as the name of a table says it: {@code orders.branch_audit} beside {@code
 * orders}. Engines that take dots as levels ask for a table {@code branch_audit} in a namespace
 * {@code orders}.
 *
 * @param table that has it
 * @param isTag whether a tag is meant
 */
record TableRef(TableIdentifier table, String ref, boolean isTag) {
  private static final Pattern LAST = Pattern.compile("(branch|tag)_(.+)");
  private static final Pattern WHOLE = Pattern.compile("(.+)\\." + LAST);

  /** The branch or tag that a name means, if there is no table of that name. */
  static Optional<TableRef> of(TableIdentifier name) {
    Matcher whole = WHOLE.matcher(name.name());
    if (whole.matches()) {
      return Optional.of(
          new TableRef(
              TableIdentifier.of(name.namespace(), whole.group(1)),
              whole.group(3),
              whole.group(2).equals("tag")));
    }
    Matcher last = LAST.matcher(name.name());
    String[] levels = name.namespace().levels();
    if (!last.matches() || levels.length == 0) {
      return Optional.empty();
    }
    Namespace above = Namespace.of(Arrays.copyOf(levels, levels.length - 1));
    return Optional.of(
        new TableRef(
            TableIdentifier.of(above, levels[levels.length - 1]),
            last.group(2),
            last.group(1).equals("tag")));
  }

  /** Refuses one that the table does not have. */
  void check(Table of) {
    SnapshotRef found = of.refs().get(ref);
    if (found == null || found.isTag() != isTag) {
      throw new NoSuchTableException(
          "table %s has no %s '%s'; it has %s",
          table,
          isTag ? "tag" : "branch",
          ref,
          of.refs().entrySet().stream()
              .filter(each -> each.getValue().isTag() == isTag)
              .map(Map.Entry::getKey)
              .sorted()
              .toList());
    }
  }
}
