package io.keylake.tables.schema;

import java.util.List;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.types.Type;
import org.jspecify.annotations.Nullable;

/**
 * One change of a column, or of a member of a column: the path begins with the column, and goes on
 * with members of structs, {@code element} of an array, {@code key} and {@code value} of a map.
 */
public sealed interface ColumnChange {
  List<String> path();

  /** An empty comment is none. */
  private static @Nullable String said(@Nullable String comment) {
    return comment == null || comment.isEmpty() ? null : comment;
  }

  /**
   * The place of a column among its neighbours.
   *
   * @param after the neighbour before it; null where it is the first
   */
  record Position(@Nullable String after) {}

  /**
   * @param position null: the last
   */
  record Add(List<String> path, Type type, @Nullable String comment, @Nullable Position position)
      implements ColumnChange {
    public Add {
      path = List.copyOf(path);
      comment = said(comment);
    }
  }

  /**
   * A change of what statements mean by DEFAULT from now on. Rows that are there keep what they
   * have.
   *
   * @param value null for none
   */
  record Default(List<String> path, @Nullable Literal<?> value) implements ColumnChange {
    public Default {
      path = List.copyOf(path);
    }
  }

  /**
   * @param ifExists whether a column that is not there is no error
   */
  record Drop(List<String> path, boolean ifExists) implements ColumnChange {
    public Drop {
      path = List.copyOf(path);
    }
  }

  /** Another name, with the same values and versions. */
  record Rename(List<String> path, String name) implements ColumnChange {
    public Rename {
      path = List.copyOf(path);
    }
  }

  /** A type that has all values of the type before. */
  record Widen(List<String> path, Type type) implements ColumnChange {
    public Widen {
      path = List.copyOf(path);
    }
  }

  record Comment(List<String> path, @Nullable String comment) implements ColumnChange {
    public Comment {
      path = List.copyOf(path);
      comment = said(comment);
    }
  }

  record Move(List<String> path, Position position) implements ColumnChange {
    public Move {
      path = List.copyOf(path);
    }
  }
}
