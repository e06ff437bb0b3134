package io.keylake.tables.check;

import io.keylake.tables.StoreFailure;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.FileInfo;
import org.apache.iceberg.io.SupportsPrefixOperations;
import org.jspecify.annotations.Nullable;

/**
 * The newest whole metadata file before one that cannot be read. Each commit writes a file under
 * the next number, and the last files are kept, so this one is the table before the last commit.
 *
 * <p>Where two files have a number, one of them is of a commit that was not made, and nothing says
 * which: the file before both is taken. Files of a table that had the folder before have another
 * UUID, and are passed over.
 *
 * @param location in the form of that of the damaged file
 */
public record EarlierMetadata(String location, TableMetadata metadata) {
  private static final Pattern NUMBER = Pattern.compile("v?(\\d+)[-.].*metadata\\.json");
  private static final Pattern UUID_OF_TABLE =
      Pattern.compile("\"table-uuid\"\\s*:\\s*\"([0-9a-f-]{36})\"");

  /** The file before a damaged one; null where there is none, or where it is not certain. */
  public static @Nullable EarlierMetadata of(FileIO io, String damaged) {
    int last = number(damaged);
    if (!(io instanceof SupportsPrefixOperations store) || last < 0) {
      return null;
    }
    String folder = damaged.substring(0, damaged.lastIndexOf('/') + 1);
    TreeMap<Integer, List<String>> files = new TreeMap<>(Collections.reverseOrder());
    for (FileInfo file : store.listPrefix(folder)) {
      String name = name(file.location());
      int number = number(name);
      if (number >= 0
          && number < last
          && withoutStore(file.location()).equals(withoutStore(folder + name))) {
        files.computeIfAbsent(number, any -> new ArrayList<>()).add(folder + name);
      }
    }
    return newest(io, files, uuid(io, damaged));
  }

  private static @Nullable EarlierMetadata newest(
      FileIO io, TreeMap<Integer, List<String>> files, @Nullable String uuid) {
    for (List<String> ofNumber : files.values()) {
      List<EarlierMetadata> whole =
          ofNumber.stream()
              .map(location -> read(io, location))
              .filter(Objects::nonNull)
              .filter(each -> uuid == null || each.metadata.uuid().equals(uuid))
              .toList();
      if (whole.size() == 1) {
        return whole.get(0);
      }
    }
    return null;
  }

  private static @Nullable EarlierMetadata read(FileIO io, String location) {
    try {
      return new EarlierMetadata(location, TableMetadataParser.read(io, location));
    } catch (RuntimeException e) {
      return null; // it is damaged as well
    }
  }

  private static String name(String location) {
    return location.substring(location.lastIndexOf('/') + 1);
  }

  /** A listing may say {@code file:/} where the catalog says nothing. */
  private static String withoutStore(String location) {
    return location.replaceFirst("^[A-Za-z][A-Za-z0-9+.-]*:/+", "/");
  }

  /** The number in the name of a metadata file; -1 for other names. */
  private static int number(String location) {
    Matcher name = NUMBER.matcher(name(location));
    try {
      return name.matches() ? Integer.parseInt(name.group(1)) : -1;
    } catch (NumberFormatException e) {
      return -1;
    }
  }

  /** The UUID in a damaged file, where that can still be read. */
  private static @Nullable String uuid(FileIO io, String damaged) {
    try (var stream = io.newInputFile(damaged).newStream()) {
      String text = new String(stream.readAllBytes(), StandardCharsets.ISO_8859_1);
      Matcher uuid = UUID_OF_TABLE.matcher(text);
      return uuid.find() ? uuid.group(1) : null;
    } catch (IOException | NotFoundException e) {
      return null;
    }
  }

  /** Writes metadata over a damaged file, which the catalog goes on to name. */
  public static void put(FileIO io, TableMetadata metadata, String damaged) {
    try {
      TableMetadataParser.overwrite(metadata, io.newOutputFile(damaged));
    } catch (RuntimeException e) {
      throw StoreFailure.writing(damaged, e);
    }
  }
}
