package io.keylake.spark.columnfilters;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.keylake.tables.FileDamage;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The filters of keys that a file has, as its footer says them. The checksum of the footer covers
 * what is said, and that has a checksum of each part of a filter: a bit that is not as it was
 * written would hide rows.
 *
 * @param begin of the filters, where the indexes of pages end
 * @param crcOfIndexes the CRC-32 of the indexes without the filters
 */
public record ColumnFilters(long begin, int crcOfIndexes, List<ColumnFilter> filters) {
  /** The key in the footer's metadata. */
  public static final String NAME = "keylake.key_filters";

  private static final String BEGIN = "begin";
  private static final String CRC_OF_INDEXES = "crc_of_indexes";
  private static final String PART_BYTES = "part_bytes";
  private static final String FILTERS = "filters";
  private static final String ROW_GROUP = "row_group";
  private static final String FIELD = "field";
  private static final String BYTES = "bytes";
  private static final String CHECKSUMS = "crcs";
  private static final int BYTES_OF_OBJECT = 24;
  private static final ObjectMapper JSON = new ObjectMapper();

  public ColumnFilters {
    filters = List.copyOf(filters);
  }

  /** The filters of a file; none where its writer has made none. */
  public static Optional<ColumnFilters> of(Map<String, String> metadata) throws FileDamage {
    String said = metadata.get(NAME);
    if (said == null) {
      return Optional.empty();
    }
    try {
      JsonNode json = JSON.readTree(said);
      List<ColumnFilter> filters = new ArrayList<>();
      for (JsonNode each : json.required(FILTERS)) {
        List<Long> checksums = new ArrayList<>();
        each.required(CHECKSUMS).forEach(crc -> checksums.add(crc.longValue()));
        filters.add(
            new ColumnFilter(
                each.required(ROW_GROUP).intValue(),
                each.required(FIELD).intValue(),
                each.required(BEGIN).longValue(),
                each.required(BYTES).intValue(),
                checksums));
      }
      // A later version may have parts of another size; a filter that cannot be checked is none.
      boolean areKnown = json.required(PART_BYTES).intValue() == ColumnFilter.PART_BYTES;
      return Optional.of(
          new ColumnFilters(
              json.required(BEGIN).longValue(),
              (int) json.required(CRC_OF_INDEXES).longValue(),
              areKnown ? filters : List.of()));
    } catch (JsonProcessingException | IllegalArgumentException e) {
      throw FileDamage.of("what its footer says of filters of keys", e);
    }
  }

  /** About how many bytes this takes, without the filters themselves. */
  public long bytesInMemory() {
    return filters.stream()
        .mapToLong(each -> (long) BYTES_OF_OBJECT * (2 + each.checksums().size()))
        .sum();
  }

  String asJson() {
    ObjectNode json = JSON.createObjectNode();
    json.put(BEGIN, begin);
    json.put(CRC_OF_INDEXES, Integer.toUnsignedLong(crcOfIndexes));
    json.put(PART_BYTES, ColumnFilter.PART_BYTES);
    ArrayNode all = json.putArray(FILTERS);
    for (ColumnFilter filter : filters) {
      ObjectNode each = all.addObject();
      each.put(ROW_GROUP, filter.rowGroup());
      each.put(FIELD, filter.field());
      each.put(BEGIN, filter.begin());
      each.put(BYTES, filter.bytes());
      ArrayNode checksums = each.putArray(CHECKSUMS);
      filter.checksums().forEach(checksums::add);
    }
    return json.toString();
  }
}
