package io.keylake.spark.write.skew;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.RowOrdering;
import org.apache.spark.sql.types.DataType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Cuts rows, ordered by (partition, bucket, key), into ranges of about equal size. A bucket of a
 * partition, here a cell, lies in one range, and so in one file, unless it has more rows than a
 * range should have. It is then cut between values of the first key column; only a value that has
 * too many rows itself is cut by the next column, and so on. A key is never cut.
 */
final class KeyRanges {
  private static final double LOOSE = 1.5; // what is this much over the limit is left whole
  private static final double WIDER = 1.1;

  private final DataType[] types;
  private final int columnsOfCell;
  private final List<Comparator<InternalRow>> orders = new ArrayList<>();

  /**
   * @param types of the columns of a row's place: partition, bucket, and the rest of the key
   * @param columnsOfCell how many of them are the partition and the bucket
   */
  KeyRanges(DataType[] types, int columnsOfCell) {
    this.types = types;
    this.columnsOfCell = columnsOfCell;
    for (int columns = 0; columns <= types.length; columns++) {
      orders.add(order(Arrays.copyOf(types, columns)));
    }
  }

  /** The order in which Spark sorts rows; nulls come first. */
  static Comparator<InternalRow> order(DataType[] types) {
    return RowOrdering.createNaturalAscendingOrdering(
        CollectionConverters.asScala(Arrays.asList(types)).toSeq());
  }

  /**
   * A place in the order.
   *
   * @param rows how many rows it stands for
   */
  record Point(InternalRow place, long rows) {}

  /** Neighbours with the same values of the first columns. */
  private record Group(List<Point> points, int columns, long rows) {}

  /**
   * The places at which ranges begin, without the first, in order.
   *
   * @param ranges how many there may be
   */
  List<InternalRow> cuts(List<Point> sample, int ranges) {
    List<Point> sorted = new ArrayList<>(sample);
    sorted.sort(Comparator.comparing(Point::place, orders.get(types.length)));
    List<Group> cells = groups(sorted, columnsOfCell);
    double limit = (double) cells.stream().mapToLong(Group::rows).sum() / ranges;
    Cutting cutting = new Cutting();
    cutting.cut(cells, limit);
    while (cutting.cuts.size() >= ranges) {
      limit *= WIDER;
      cutting = new Cutting();
      cutting.cut(cells, limit);
    }
    return cutting.cuts;
  }

  /** One way through the groups. */
  private final class Cutting {
    private final List<InternalRow> cuts = new ArrayList<>();
    private double filled;

    void cut(List<Group> groups, double limit) {
      boolean wasHot = false;
      for (Group group : groups) {
        boolean isHot = group.columns() < types.length && group.rows() > LOOSE * limit;
        // The bounds of a file's key columns tell which keys it has only where it has whole groups,
        // or a part of one and nothing else.
        boolean isApart = group.columns() > columnsOfCell && (isHot || wasHot);
        boolean isFull = filled + group.rows() / 2.0 > limit;
        if (filled > 0 && (isApart || isFull)) {
          cuts.add(beginOf(group));
          filled = 0;
        }
        if (isHot) {
          cut(
              groups(group.points(), group.columns() + 1),
              group.rows() / Math.ceil(group.rows() / limit));
        } else {
          filled += group.rows();
        }
        wasHot = isHot;
      }
    }
  }

  /** Below every key of the group, those that are not in the sample, too. */
  private InternalRow beginOf(Group group) {
    Object[] values = new Object[types.length];
    for (int i = 0; i < group.columns(); i++) {
      values[i] = group.points().get(0).place().get(i, types[i]);
    }
    return new GenericInternalRow(values);
  }

  private List<Group> groups(List<Point> sorted, int columns) {
    Comparator<InternalRow> order = orders.get(columns);
    List<Group> groups = new ArrayList<>();
    int begin = 0;
    for (int end = 1; end <= sorted.size(); end++) {
      if (end == sorted.size()
          || order.compare(sorted.get(begin).place(), sorted.get(end).place()) != 0) {
        List<Point> points = sorted.subList(begin, end);
        groups.add(new Group(points, columns, points.stream().mapToLong(Point::rows).sum()));
        begin = end;
      }
    }
    return groups;
  }
}
