package io.keylake.spark.write;

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
 * range should have. A key is never cut.
 */
final class KeyRanges {
  private static final double LOOSE = 1.5; // a cell this much over the limit is left whole
  private static final double WIDER = 1.1;

  private final DataType[] types;
  private final int columnsOfCell;
  private final Comparator<InternalRow> order;
  private final Comparator<InternalRow> orderOfCells;

  /**
   * @param types of the columns of a row's place: partition, bucket, and the rest of the key
   * @param columnsOfCell how many of them are the partition and the bucket
   */
  KeyRanges(DataType[] types, int columnsOfCell) {
    this.types = types;
    this.columnsOfCell = columnsOfCell;
    this.order = order(types);
    this.orderOfCells = order(Arrays.copyOf(types, columnsOfCell));
  }

  /** As Spark sorts rows; nulls come first. */
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

  /** Neighbours that may not be cut, or need not be. */
  private record Group(List<Point> points, long rows) {
    InternalRow first() {
      return points.get(0).place();
    }
  }

  /**
   * The places at which ranges begin, without the first, in order.
   *
   * @param ranges how many there may be
   */
  List<InternalRow> cuts(List<Point> sample, int ranges) {
    List<Point> sorted = new ArrayList<>(sample);
    sorted.sort(Comparator.comparing(Point::place, order));
    List<Group> cells = groups(sorted, orderOfCells);
    long rows = cells.stream().mapToLong(Group::rows).sum();
    // With fewer cells than tasks, as many tasks as cells are enough while none of them is hot.
    double limit = (double) rows / Math.min(ranges, Math.max(1, cells.size()));
    List<InternalRow> cuts = cuts(cells, limit);
    while (cuts.size() >= ranges) {
      limit *= WIDER;
      cuts = cuts(cells, limit);
    }
    return cuts;
  }

  private List<InternalRow> cuts(List<Group> cells, double limit) {
    List<InternalRow> cuts = new ArrayList<>();
    double filled = 0;
    for (Group cell : cells) {
      if (filled > 0 && filled + cell.rows() > limit) {
        cuts.add(beginOf(cell));
        filled = 0;
      }
      if (cell.rows() <= LOOSE * limit) {
        filled += cell.rows();
        continue;
      }
      double share = cell.rows() / Math.ceil(cell.rows() / limit);
      for (Group key : groups(cell.points(), order)) {
        // The key goes to where more of it lies.
        if (filled > 0 && filled + key.rows() / 2.0 > share) {
          cuts.add(key.first());
          filled = 0;
        }
        filled += key.rows();
      }
    }
    return cuts;
  }

  /** Below every key of the cell, those that are not in the sample, too. */
  private InternalRow beginOf(Group cell) {
    Object[] values = new Object[types.length];
    for (int i = 0; i < columnsOfCell; i++) {
      values[i] = cell.first().get(i, types[i]);
    }
    return new GenericInternalRow(values);
  }

  private static List<Group> groups(List<Point> sorted, Comparator<InternalRow> order) {
    List<Group> groups = new ArrayList<>();
    int begin = 0;
    for (int end = 1; end <= sorted.size(); end++) {
      if (end == sorted.size()
          || order.compare(sorted.get(begin).place(), sorted.get(end).place()) != 0) {
        List<Point> points = sorted.subList(begin, end);
        groups.add(new Group(points, points.stream().mapToLong(Point::rows).sum()));
        begin = end;
      }
    }
    return groups;
  }
}
