package io.keylake.spark.columnfilters;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.filter2.predicate.Operators;
import org.apache.parquet.filter2.predicate.UserDefinedPredicate;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.Type;
import org.jspecify.annotations.Nullable;

/** Asks the filters of a row group whether it may have rows that a predicate wants. */
final class FilterQuestion implements FilterPredicate.Visitor<Boolean> {
  /** A row group has one of more values nearly always, or the filter errs for one of them. */
  private static final int MOST_VALUES = 32;

  private final AskedFile file;
  private final int rowGroup;
  private final MessageType schema;
  private final BlockSplitBloomFilter hashing = ValueHash.hashing();

  FilterQuestion(AskedFile file, int rowGroup, MessageType schema) {
    this.file = file;
    this.rowGroup = rowGroup;
    this.schema = schema;
  }

  /**
   * Values of which a row has to have one.
   *
   * @param column that has them, by its name in the file
   */
  private record Values(String column, Set<?> values) {}

  private boolean mayHave(Values wanted) {
    Type type = schema.getType(wanted.column());
    ColumnFilter filter =
        type.getId() == null ? null : file.filter(rowGroup, type.getId().intValue());
    if (filter == null
        || wanted.values().size() > MOST_VALUES
        || wanted.values().stream().anyMatch(Objects::isNull)) {
      return true;
    }
    try {
      return file.mayHave(
          filter, wanted.values().stream().mapToLong(this::hash).distinct().toArray());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private long hash(Object value) {
    return value instanceof Binary bytes ? hashing.hash(bytes) : hashing.hash(value);
  }

  /** The values that a predicate allows one column to have; null where it says something else. */
  private static @Nullable Values values(FilterPredicate predicate) {
    if (predicate instanceof Operators.Eq<?> equal) {
      Set<Object> one = new HashSet<>();
      one.add(equal.getValue());
      return ofColumn(equal.getColumn(), one);
    }
    if (predicate instanceof Operators.In<?> among) {
      return ofColumn(among.getColumn(), among.getValues());
    }
    if (!(predicate instanceof Operators.Or or)) {
      return null;
    }
    Values left = values(or.getLeft());
    Values right = left == null ? null : values(or.getRight());
    if (left == null || right == null || !left.column().equals(right.column())) {
      return null;
    }
    Set<Object> both = new HashSet<>(left.values());
    both.addAll(right.values());
    return new Values(left.column(), both);
  }

  private static @Nullable Values ofColumn(Operators.Column<?> column, Set<?> values) {
    String[] path = column.getColumnPath().toArray();
    return path.length == 1 ? new Values(path[0], values) : null;
  }

  private boolean mayHave(FilterPredicate predicate) {
    Values values = values(predicate);
    return values == null || mayHave(values);
  }

  @Override
  public <T extends Comparable<T>> Boolean visit(Operators.Eq<T> equal) {
    return mayHave(equal);
  }

  @Override
  public <T extends Comparable<T>> Boolean visit(Operators.In<T> among) {
    return mayHave(among);
  }

  @Override
  public Boolean visit(Operators.And and) {
    return List.of(and.getLeft(), and.getRight()).stream().allMatch(each -> each.accept(this));
  }

  @Override
  public Boolean visit(Operators.Or or) {
    Values values = values(or);
    return values == null
        ? or.getLeft().accept(this) || or.getRight().accept(this)
        : mayHave(values);
  }

  @Override
  public <T extends Comparable<T>> Boolean visit(Operators.NotEq<T> other) {
    return true;
  }

  @Override
  public <T extends Comparable<T>> Boolean visit(Operators.NotIn<T> others) {
    return true;
  }

  @Override
  public <T extends Comparable<T>> Boolean visit(Operators.Contains<T> part) {
    return true;
  }

  @Override
  public <T extends Comparable<T>> Boolean visit(Operators.Lt<T> range) {
    return true;
  }

  @Override
  public <T extends Comparable<T>> Boolean visit(Operators.LtEq<T> range) {
    return true;
  }

  @Override
  public <T extends Comparable<T>> Boolean visit(Operators.Gt<T> range) {
    return true;
  }

  @Override
  public <T extends Comparable<T>> Boolean visit(Operators.GtEq<T> range) {
    return true;
  }

  @Override
  public Boolean visit(Operators.Not not) {
    return true;
  }

  @Override
  public <T extends Comparable<T>, U extends UserDefinedPredicate<T>> Boolean visit(
      Operators.UserDefined<T, U> test) {
    return true;
  }

  @Override
  public <T extends Comparable<T>, U extends UserDefinedPredicate<T>> Boolean visit(
      Operators.LogicalNotUserDefined<T, U> test) {
    return true;
  }
}
