package com.acme;

import io.keylake.merge.Reducer;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Reducers as users write them: right ones, and some that a server refuses. */
public final class Examples {
  private Examples() {}

  /** The middle one of all numbers, of an even count the lower one; the state has all of them. */
  public static final class Median implements Reducer {
    private final List<Long> numbers = new ArrayList<>();

    @Override
    public boolean takes(String type) {
      return type.equals("long");
    }

    @Override
    public void clear() {
      numbers.clear();
    }

    @Override
    public void add(Object contribution) {
      if ((Long) contribution == 13) {
        throw new IllegalArgumentException("13 is no number here");
      }
      numbers.add((Long) contribution);
    }

    @Override
    public void combine(Object value, byte[] state) {
      ByteBuffer bytes = ByteBuffer.wrap(state);
      while (bytes.hasRemaining()) {
        numbers.add(bytes.getLong());
      }
    }

    @Override
    public Object value() {
      Collections.sort(numbers);
      return numbers.get((numbers.size() - 1) / 2);
    }

    @Override
    public byte[] state() {
      ByteBuffer bytes = ByteBuffer.allocate(Long.BYTES * numbers.size());
      numbers.forEach(bytes::putLong);
      return bytes.array();
    }
  }

  /** The last texts, in the order of commits. */
  public static final class Trail implements Reducer {
    private static final int MOST = 4;
    private final List<String> steps = new ArrayList<>();

    @Override
    public boolean takes(String type) {
      return type.equals("list<string>");
    }

    @Override
    public boolean isOrdered() {
      return true;
    }

    @Override
    public void clear() {
      steps.clear();
    }

    @Override
    public void add(Object contribution) {
      for (Object step : (List<?>) contribution) {
        steps.add((String) step);
      }
      while (steps.size() > MOST) {
        steps.remove(0);
      }
    }

    @Override
    public void combine(Object value, byte[] state) {
      add(value);
    }

    @Override
    public Object value() {
      return List.copyOf(new ArrayList<>(steps.stream().map(s -> s == null ? "" : s).toList()));
    }
  }

  /** Rounds after each addition, so that the order shows. */
  public static class RoundedSum implements Reducer {
    private double sum;

    @Override
    public boolean takes(String type) {
      return true;
    }

    @Override
    public void clear() {
      sum = 0;
    }

    @Override
    public void add(Object contribution) {
      sum += (Double) contribution;
    }

    @Override
    public void combine(Object value, byte[] state) {
      add(value);
    }

    @Override
    public Object value() {
      return sum;
    }
  }

  /** Never begins anew. */
  public static final class Sticky extends RoundedSum {
    @Override
    public void clear() {}
  }

  /** Has a constructor that nobody can call. */
  public static final class Hidden extends RoundedSum {
    private Hidden() {}
  }

  /** Is none. */
  public static final class Other {}
}
