package io.keylake.tables.outcomes;

import io.keylake.tables.catalogs.MetadataMove;
import java.util.Locale;
import java.util.Objects;
import java.util.UUID;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadata.MetadataLogEntry;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.jspecify.annotations.Nullable;

/**
 * A table that is changed together with others.
 *
 * @param base its metadata before; null for a table that is created
 * @param next its metadata after; the base itself where it has to stay as it is
 */
public record TableChange(
    TableIdentifier table,
    TableOperations operations,
    @Nullable TableMetadata base,
    TableMetadata next) {
  /** The part of a change that a table says has become of it. */
  enum Trace {
    MADE,
    /** The table is as before: the change may still be on its way. */
    BEFORE,
    /** Others have changed it since, so the change fits it no more. */
    OTHERS,
    UNKNOWN
  }

  boolean stays() {
    return next == base;
  }

  /** Writes the metadata, which no table has yet. */
  MetadataMove written() {
    String from = base == null ? null : base.metadataFileLocation();
    if (from != null && stays()) {
      return new MetadataMove(table, from, from);
    }
    String codec =
        next.property(
            TableProperties.METADATA_COMPRESSION, TableProperties.METADATA_COMPRESSION_DEFAULT);
    String name =
        String.format(
            Locale.ROOT,
            "%05d-%s%s",
            number(from) + 1,
            UUID.randomUUID(),
            TableMetadataParser.getFileExtension(codec));
    String to = operations.temp(next).metadataFileLocation(name);
    TableMetadataParser.write(next, operations.io().newOutputFile(to));
    return new MetadataMove(table, from, to);
  }

  /** The number in front of the name of a file of metadata. */
  private static int number(@Nullable String location) {
    String name = location == null ? "" : location.substring(location.lastIndexOf('/') + 1);
    String digits = name.replaceFirst("-.*", "");
    return digits.matches("\\d{1,9}") ? Integer.parseInt(digits) : -1;
  }

  /** The table, as its catalog has it now, says what became of a move. */
  Trace trace(MetadataMove move) {
    TableMetadata now = now();
    String at = now == null ? null : now.metadataFileLocation();
    if (Objects.equals(at, move.from())) {
      return Trace.BEFORE;
    }
    if (stays()) {
      return Trace.OTHERS;
    }
    if (move.to().equals(at) || isPast(now, move.to())) {
      return Trace.MADE;
    }
    return move.from() == null || isPast(now, move.from()) ? Trace.OTHERS : Trace.UNKNOWN;
  }

  private @Nullable TableMetadata now() {
    try {
      return operations.refresh();
    } catch (NoSuchTableException e) {
      return null; // it was dropped
    }
  }

  private static boolean isPast(@Nullable TableMetadata now, String location) {
    return now != null
        && now.previousFiles().stream().map(MetadataLogEntry::file).anyMatch(location::equals);
  }
}
