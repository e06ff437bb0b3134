package io.keylake.spark.parquet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

class EmptyConfigurationTest {
  @Test
  void configurationsOfAFileReadNothing() {
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    Configuration made = EmptyConfiguration.during(Configuration::new);
    made.set("parquet.compression.codec.zstd.level", "3");
    assertEquals(1, made.size());
    assertSame(before, Thread.currentThread().getContextClassLoader());
  }

  @Test
  void classesOfCodecsAreFound() throws ClassNotFoundException {
    Configuration made = EmptyConfiguration.during(Configuration::new);
    String codec = "org.apache.parquet.hadoop.codec.ZstandardCodec";
    assertEquals(codec, made.getClassByName(codec).getName());
  }

  @Test
  void otherConfigurationsAreAsTheyWere() {
    EmptyConfiguration.during(Configuration::new);
    assertNotEquals(0, new Configuration().size());
  }
}
