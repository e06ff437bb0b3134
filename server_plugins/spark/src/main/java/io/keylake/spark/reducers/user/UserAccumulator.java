package io.keylake.spark.reducers.user;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.merge.Reducer;
import io.keylake.spark.reducers.Accumulator;
import io.keylake.tables.KeylakeException;
import java.util.Objects;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.DataType;
import org.jspecify.annotations.Nullable;

/** An accumulator of a class of a user. */
public final class UserAccumulator extends Accumulator {
  private final String name;
  private final DataType type;
  private final Reducer reducer;

  public UserAccumulator(String name, DataType type) {
    this.name = name;
    this.type = type;
    this.reducer = UserReducers.load(name);
    reset();
  }

  @Override
  protected void reset() {
    run(reducer::clear);
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal) {
    Object value = Objects.requireNonNull(PlainValues.plain(row, ordinal, type), "a contribution");
    run(() -> reducer.add(value));
  }

  @Override
  protected void merge(SpecializedGetters row, int ordinal, byte @Nullable [] state) {
    Object value = PlainValues.plain(row, ordinal, type);
    run(() -> reducer.combine(value, state));
  }

  @Override
  public @Nullable Object value() {
    return isEmpty() ? null : PlainValues.catalyst(asked(reducer::value), type);
  }

  /** A value that is null is one, too. */
  @Override
  public boolean isShown(@Nullable Object value) {
    return true;
  }

  @Override
  public byte @Nullable [] state() {
    return isEmpty() ? null : asked(reducer::state);
  }

  private void run(Runnable step) {
    asked(
        () -> {
          step.run();
          return null;
        });
  }

  private <T> @Nullable T asked(Supplier<@Nullable T> step) {
    try {
      return step.get();
    } catch (RuntimeException e) {
      throw new KeylakeException(
          BAD_ROWS,
          e instanceof IllegalArgumentException
              ? "the reducer %s does not take the contribution: %s".formatted(name, e.getMessage())
              : "the reducer %s fails: %s; mend the class".formatted(name, e));
    }
  }
}
