package io.keylake.spark.registration;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.VERSION_MISSING;

import io.keylake.spark.catalog.SqlDefinition;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.SpecProperties;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * The definition of the table that a registration makes, in the words of a call.
 *
 * @param key empty where the source is to tell it
 * @param version the column that holds the version of a row, which the table keeps; or null
 * @param bucketBy empty for the whole key
 */
public record DefinitionWords(
    List<String> key,
    @Nullable String ordering,
    @Nullable String versions,
    @Nullable String version,
    @Nullable Long buckets,
    List<String> bucketBy,
    List<String> partitionBy) {

  DefinitionWords of(List<String> keyOfSource, boolean isChangelog) {
    boolean isExplicit = version != null || (isChangelog && ordering == null);
    return new DefinitionWords(
        key.isEmpty() ? keyOfSource : key,
        ordering,
        versions == null && isExplicit ? "explicit" : versions,
        version == null && isChangelog && ordering == null ? SourceColumns.SEQUENCE : version,
        buckets,
        bucketBy,
        partitionBy);
  }

  /** The table as CREATE TABLE would define it. */
  TableInfo statement(StructType columns, String source) {
    if (key.isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "%s does not tell its key; say key => array('column', ...)".formatted(source));
    }
    if ("explicit".equals(versions) && version == null) {
      throw new KeylakeException(
          VERSION_MISSING,
          "versions => 'explicit' needs the column of %s that holds them; say version => 'column'"
              .formatted(source));
    }
    Map<String, String> properties = new HashMap<>();
    properties.put(TableCatalog.PROP_PROVIDER, SqlDefinition.PROVIDER);
    properties.put("key", SpecProperties.columns(key));
    if (ordering != null) {
      properties.put("ordering", ordering);
    }
    if (versions != null) {
      properties.put("versions", versions);
    }
    return new TableInfo.Builder()
        .withColumns(CatalogV2Util.structTypeToV2Columns(columns))
        .withPartitions(layout())
        .withProperties(properties)
        .build();
  }

  private Transform[] layout() {
    List<Transform> layout = new ArrayList<>();
    partitionBy.forEach(
        name -> layout.add(Expressions.identity(QuotingUtils.quoteIdentifier(name))));
    if (buckets != null) {
      List<String> columns = bucketBy.isEmpty() ? key : bucketBy;
      layout.add(Expressions.bucket(count(buckets), references(columns)));
    } else if (!bucketBy.isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "bucket_by => %s is said without a number of buckets; add buckets => n"
              .formatted(bucketBy));
    }
    return layout.toArray(Transform[]::new);
  }

  private static int count(long buckets) {
    if (buckets < 1 || buckets > Integer.MAX_VALUE) {
      throw new KeylakeException(
          DEFINITION, "buckets => %d is not possible; give a number from 1 on".formatted(buckets));
    }
    return (int) buckets;
  }

  private static String[] references(List<String> columns) {
    return columns.stream().map(QuotingUtils::quoteIdentifier).toArray(String[]::new);
  }
}
