package io.keylake.spark.publish;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;

/** A kind of file that stores load as it is. */
enum KvFormat {
  PARQUET("parquet") {
    @Override
    GroupWriters writers(PublishedSchema schema, Configuration hadoop) {
      return new ParquetGroups(schema, hadoop);
    }
  },
  ROCKSDB("sst") {
    @Override
    GroupWriters writers(PublishedSchema schema, Configuration hadoop) {
      return new SstGroups(schema);
    }
  };

  private final String ending;

  KvFormat(String ending) {
    this.ending = ending;
  }

  static KvFormat of(String word) {
    return Arrays.stream(values())
        .filter(format -> format.word().equals(word))
        .findFirst()
        .orElseThrow(
            () ->
                new KeylakeException(
                    DEFINITION,
                    "format is '%s'; it must be one of %s"
                        .formatted(
                            word,
                            Arrays.stream(values())
                                .map(KvFormat::word)
                                .collect(Collectors.joining(", ")))));
  }

  String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** The name of a group's file: they sort as the groups do. */
  String fileOf(int group) {
    return "group=%06d.%s".formatted(group, ending);
  }

  abstract GroupWriters writers(PublishedSchema schema, Configuration hadoop);
}
