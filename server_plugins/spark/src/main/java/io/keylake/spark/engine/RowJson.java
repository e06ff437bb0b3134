package io.keylake.spark.engine;

import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonGenerator;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Writes rows as JSON objects in UTF-8: nulls included, times in ISO form and in UTC, binary in
 * base64.
 */
public final class RowJson {
  private static final Map<String, String> FORM =
      Map.of(
          "ignoreNullFields", "false",
          "timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
          "timestampNTZFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS");

  private final StringWriter text = new StringWriter();
  private final JacksonGenerator json;

  public RowJson(StructType type) {
    JSONOptions options =
        new JSONOptions(
            scala.collection.immutable.Map.from(CollectionConverters.asScala(FORM)), "UTC", "");
    json = new JacksonGenerator(type, text, options);
  }

  public byte[] of(InternalRow row) {
    text.getBuffer().setLength(0);
    json.write(row);
    json.flush();
    return text.toString().strip().getBytes(StandardCharsets.UTF_8);
  }
}
