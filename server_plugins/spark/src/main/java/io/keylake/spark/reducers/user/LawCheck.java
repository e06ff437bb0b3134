package io.keylake.spark.reducers.user;

import io.keylake.merge.Reducer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.spark.sql.types.DataType;
import org.jspecify.annotations.Nullable;

/**
 * Finds out whether a reducer gives the same value whatever contributions are combined first, and
 * in whatever order unless it says that the order matters.
 *
 * <p>All few contributions of the samples are tried before many of them, so that what is found is
 * as small as can be. The many are drawn from a fixed seed, and made smaller where they fail.
 */
final class LawCheck {
  private static final int MOST_FOR_THREE = 8;
  private static final int DRAWN = 300;
  private static final int MOST_DRAWN = 7;

  private final Supplier<Reducer> made;
  private final Reducer reused;
  private final List<Object> samples;

  LawCheck(Supplier<Reducer> made, DataType type) {
    this.made = made;
    this.reused = made.get();
    this.samples = Samples.of(type).stream().filter(this::isTaken).toList();
  }

  /** The value and the state that were stored of some contributions. */
  private record Stored(@Nullable Object value, byte @Nullable [] state) {}

  private boolean isTaken(Object sample) {
    try {
      Reducer reducer = made.get();
      reducer.clear();
      reducer.add(sample);
      return true;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  /** The smallest contributions found that give two values, in words; null where there are none. */
  @Nullable String counterexample() {
    for (Object one : samples) {
      String found = failure(List.of(List.of(one)));
      if (found != null) {
        return found;
      }
    }
    for (Object one : samples) {
      for (Object other : samples) {
        String found = failure(List.of(List.of(one), List.of(other)));
        if (found != null) {
          return found;
        }
      }
    }
    String found = ofThree();
    return found != null ? found : drawn();
  }

  private @Nullable String ofThree() {
    List<Object> few = samples.subList(0, Math.min(samples.size(), MOST_FOR_THREE));
    for (Object one : few) {
      for (Object other : few) {
        for (Object third : few) {
          for (List<List<Object>> groups :
              List.of(
                  List.of(List.of(one), List.of(other, third)),
                  List.of(List.of(one, other), List.of(third)))) {
            String found = failure(groups);
            if (found != null) {
              return found;
            }
          }
        }
      }
    }
    return null;
  }

  private @Nullable String drawn() {
    Random random = new Random(0);
    for (int round = 0; round < DRAWN && !samples.isEmpty(); round++) {
      List<List<Object>> groups = new ArrayList<>();
      for (int count = 1 + random.nextInt(MOST_DRAWN); count > 0; count--) {
        if (groups.isEmpty() || random.nextBoolean()) {
          groups.add(new ArrayList<>());
        }
        groups.get(groups.size() - 1).add(samples.get(random.nextInt(samples.size())));
      }
      if (failure(groups) != null) {
        return failure(smaller(groups));
      }
    }
    return null;
  }

  /** Leaves contributions out as long as the rest still fails. */
  private List<List<Object>> smaller(List<List<Object>> groups) {
    for (int group = 0; group < groups.size(); group++) {
      for (int at = 0; at < groups.get(group).size(); at++) {
        List<List<Object>> left = new ArrayList<>();
        groups.forEach(each -> left.add(new ArrayList<>(each)));
        left.get(group).remove(at);
        left.removeIf(List::isEmpty);
        if (!left.isEmpty() && failure(left) != null) {
          return smaller(left);
        }
      }
    }
    return groups;
  }

  /**
   * The fault that contributions show in groups, each of which is stored before all are combined;
   * null where there is none.
   */
  private @Nullable String failure(List<List<Object>> groups) {
    List<Object> all = groups.stream().flatMap(List::stream).toList();
    try {
      Object whole = folded(made.get(), all).value;
      String differs = differing(whole, groups, all);
      if (differs == null && !reused.isOrdered()) {
        List<List<Object>> backwards = new ArrayList<>(groups);
        Collections.reverse(backwards);
        differs = differing(whole, backwards, all);
      }
      return differs;
    } catch (RuntimeException e) {
      return "%s fails with %s".formatted(text(groups), e);
    }
  }

  private @Nullable String differing(
      @Nullable Object whole, List<List<Object>> groups, List<Object> all) {
    List<Stored> stored = new ArrayList<>();
    groups.forEach(group -> stored.add(folded(reused, group)));
    Object found = combined(stored).value;
    if (isSame(whole, found)) {
      return null;
    }
    return "%s give %s one after the other, and %s stored as %s"
        .formatted(text(List.of(all)), text(whole), text(found), text(groups));
  }

  private static Stored folded(Reducer reducer, List<Object> contributions) {
    reducer.clear();
    contributions.forEach(reducer::add);
    return new Stored(reducer.value(), reducer.state());
  }

  /** Two at a time, the last ones first: what was combined is stored again. */
  private Stored combined(List<Stored> parts) {
    Stored last = parts.get(parts.size() - 1);
    Stored all = combined(null, last);
    for (int i = parts.size() - 2; i >= 0; i--) {
      all = combined(parts.get(i), all);
    }
    return all;
  }

  private Stored combined(@Nullable Stored one, Stored other) {
    reused.clear();
    if (one != null) {
      reused.combine(one.value, one.state);
    }
    reused.combine(other.value, other.state);
    return new Stored(reused.value(), reused.state());
  }

  private static boolean isSame(@Nullable Object one, @Nullable Object other) {
    if (one instanceof List<?> some && other instanceof List<?> others) {
      Iterator<?> each = others.iterator();
      return some.size() == others.size() && some.stream().allMatch(e -> isSame(e, each.next()));
    }
    if (one instanceof Map<?, ?> some && other instanceof Map<?, ?> others) {
      return isSame(new ArrayList<>(some.keySet()), new ArrayList<>(others.keySet()))
          && isSame(new ArrayList<>(some.values()), new ArrayList<>(others.values()));
    }
    return Objects.deepEquals(one, other);
  }

  private static String text(List<List<Object>> groups) {
    return groups.stream()
        .map(
            group -> group.stream().map(LawCheck::text).collect(Collectors.joining(", ", "[", "]")))
        .collect(Collectors.joining(" "));
  }

  private static String text(@Nullable Object value) {
    return value instanceof byte[] bytes
        ? Arrays.toString(bytes)
        : value instanceof String ? "'" + value + "'" : String.valueOf(value);
  }
}
