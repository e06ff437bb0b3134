package io.keylake.tables.spec;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.Reducer.Kind;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Something that a kind of reducers can be told. */
sealed interface ReducerOption {
  String name();

  /** The value of the option where it is left out; null where it is then not there. */
  default @Nullable Object usual() {
    return null;
  }

  /**
   * The option as reducers keep it; null for one that says nothing.
   *
   * @param given a Boolean, an Integer, a text, or the {@code Map} of a form
   */
  @Nullable Object read(String column, Kind kind, Object given);

  /** Something that is so or not. */
  record Flag(String name) implements ReducerOption {
    @Override
    public @Nullable Object read(String column, Kind kind, Object given) {
      if (!(given instanceof Boolean truth)) {
        throw refused(
            "the option %s of %s is %s in column '%s'; it is true or false",
            name, kind.type(), given, column);
      }
      return truth ? true : null;
    }
  }

  /** A whole number of a range. */
  record Size(String name, int least, int most, @Nullable Integer usual) implements ReducerOption {
    @Override
    public Object read(String column, Kind kind, Object given) {
      if (given instanceof Integer size && size >= least && size <= most) {
        return size;
      }
      throw refused(
          "the %s of %s is %s in column '%s'; use a whole number from %d to %d, or leave the option out",
          name, kind.type(), given, column, least, most);
    }
  }

  /** One of some words. */
  record Word(String name, List<String> words, String usual) implements ReducerOption {
    @Override
    public Object read(String column, Kind kind, Object given) {
      if (given instanceof String word && words.contains(word)) {
        return word;
      }
      throw refused(
          "the %s of %s are '%s' in column '%s'; they are %s or %s",
          name,
          kind.type(),
          given,
          column,
          String.join(", ", words.subList(0, words.size() - 1)),
          words.get(words.size() - 1));
    }
  }

  /** The name of a member of what is reduced, which has to be given. */
  record Name(String name) implements ReducerOption {
    @Override
    public Object read(String column, Kind kind, Object given) {
      if (given instanceof String member && !member.isEmpty()) {
        return member;
      }
      throw refused(
          "the option %s of %s is %s in column '%s'; write the name of a member",
          name, kind.type(), given, column);
    }
  }

  /**
   * A reducer of the contributions to one part of the column.
   *
   * @param usually the kind where it is left out; null where it is then not there
   */
  record Of(String name, @Nullable Kind usually) implements ReducerOption {
    @Override
    public @Nullable Object usual() {
      return usually == null ? null : Reducer.of(usually);
    }

    @Override
    public Object read(String column, Kind kind, Object given) {
      Reducer of = ReducerForm.read(column, given);
      boolean isDaily = kind == Kind.DAILY;
      boolean fits =
          isDaily
              ? List.of(Kind.SUM, Kind.MIN, Kind.MAX).contains(of.kind())
              : of.kind().canBePart();
      if (!fits) {
        throw refused(
            "reducer %s of column '%s' is of %s; it is of %s",
            kind.type(),
            column,
            of.type(),
            isDaily ? "Sum, Min or Max" : "a reducer that combines all values without versions");
      }
      return of;
    }
  }

  /** The reducers of the members of a struct, which have to be given. */
  record Members(String name) implements ReducerOption {
    @Override
    public Object read(String column, Kind kind, Object given) {
      if (!(given instanceof Map<?, ?> forms) || forms.isEmpty()) {
        throw refused(
            "the %s of %s are %s in column '%s'; give each member of the struct a reducer, as in Struct(clicks=Sum)",
            name, kind.type(), given, column);
      }
      SortedMap<String, Reducer> members = new TreeMap<>();
      forms.forEach(
          (member, form) -> {
            boolean isForm = form instanceof String || form instanceof Map<?, ?>;
            Reducer reducer = isForm ? ReducerForm.read(column + "." + member, form) : null;
            if (reducer == null || !reducer.kind().canBePart()) {
              throw refused(
                  "member '%s' of column '%s' has the reducer %s; use one that combines all values without versions",
                  member, column, reducer == null ? form : reducer.type());
            }
            members.put((String) member, reducer);
          });
      return members;
    }
  }

  private static KeylakeException refused(String sentence, Object... values) {
    return new KeylakeException(DEFINITION, sentence.formatted(values));
  }
}
