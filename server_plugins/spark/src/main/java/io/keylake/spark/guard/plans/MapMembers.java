package io.keylake.spark.guard.plans;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import scala.Product;
import scala.collection.Map;
import scala.jdk.javaapi.CollectionConverters;

/** The options and properties that a node of a plan, or an expression, has as maps. */
final class MapMembers {
  private MapMembers() {}

  /** Their names, in lower case. */
  static List<String> names(Product node) {
    List<String> names = new ArrayList<>();
    for (Object member : CollectionConverters.asJava(node.productIterator().toList())) {
      if (member instanceof Map<?, ?> map) {
        CollectionConverters.asJava(map.keys())
            .forEach(name -> names.add(String.valueOf(name).toLowerCase(Locale.ROOT)));
      }
    }
    return names;
  }
}
