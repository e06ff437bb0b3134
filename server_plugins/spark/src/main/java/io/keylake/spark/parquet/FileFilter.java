package io.keylake.spark.parquet;

import io.keylake.spark.engine.ParquetPushdown;
import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.Type;
import org.apache.spark.sql.sources.Filter;
import org.jspecify.annotations.Nullable;

/** Filters for the row groups and pages inside a file. */
public record FileFilter(List<Filter> filters, Map<String, Integer> fieldIds)
    implements Serializable {
  private static final int NO_FIELD = -1;
  public static final FileFilter NONE = of(List.of(), List.of());

  /**
   * @param columns that the filters may name
   */
  public static FileFilter of(List<Filter> filters, List<NestedField> columns) {
    Map<String, Integer> ids = new HashMap<>();
    columns.forEach(field -> ids.put(field.name(), field.fieldId()));
    return new FileFilter(List.copyOf(filters), Map.copyOf(ids));
  }

  public boolean isNone() {
    return filters.isEmpty();
  }

  public boolean names(String column) {
    return filters.stream().anyMatch(filter -> List.of(filter.references()).contains(column));
  }

  /** The predicate for a file with this schema, or null for none. */
  @Nullable FilterPredicate on(MessageType file) {
    if (filters.isEmpty()) {
      return null;
    }
    ParquetPushdown pushdown = new ParquetPushdown(file);
    FilterPredicate all = null;
    for (Filter filter : filters) {
      if (Arrays.stream(filter.references()).allMatch(name -> isSameColumn(file, name))) {
        Optional<FilterPredicate> one = pushdown.of(filter);
        if (one.isPresent()) {
          all = all == null ? one.get() : FilterApi.and(all, one.get());
        }
      }
    }
    return all;
  }

  /**
   * A column may have been renamed since the file was written; then its filter is left to the rows.
   */
  private boolean isSameColumn(MessageType file, String name) {
    if (!file.containsField(name)) {
      return false;
    }
    Type.ID id = file.getType(name).getId();
    return id != null && id.intValue() == fieldIds.getOrDefault(name, NO_FIELD);
  }
}
