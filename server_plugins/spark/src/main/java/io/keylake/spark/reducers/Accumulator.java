package io.keylake.spark.reducers;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.jspecify.annotations.Nullable;

/**
 * The contributions to one column of one key, combined as they come: in commit order, and within a
 * commit by version. One accumulator serves key after key. Whatever order and whatever cuts the
 * same contributions come in, value and state are the same (but for the order that the reducer
 * declares).
 */
public abstract class Accumulator {
  private boolean isEmpty = true;

  /** Forgets all contributions. */
  public final void clear() {
    if (!isEmpty) {
      isEmpty = true;
      reset();
    }
  }

  /**
   * Takes a contribution as somebody wrote it. Nothing of the row is kept.
   *
   * @param ordinal where the contribution lies; it is not null
   */
  public final void contribute(SpecializedGetters row, int ordinal) {
    add(row, ordinal);
    isEmpty = false;
  }

  /**
   * Takes a contribution as somebody wrote it, where the reducer asks for versions.
   *
   * @param version of the contribution; the same for all where commits are the versions
   */
  public final void contribute(SpecializedGetters row, int ordinal, long version) {
    add(row, ordinal, version);
    isEmpty = false;
  }

  /**
   * Takes a contribution back. It counts as one that is its opposite, so that it may come before.
   *
   * @param ordinal where the contribution lies; it is not null
   */
  public final void retract(SpecializedGetters row, int ordinal) {
    subtract(row, ordinal);
    isEmpty = false;
  }

  /**
   * Takes what a file has of contributions that were combined before. Nothing of the row is kept.
   *
   * @param ordinal where the value lies; it is null only where there is a state
   * @param state of the value; null where the value says all
   */
  public final void combine(SpecializedGetters row, int ordinal, byte @Nullable [] state) {
    merge(row, ordinal, state);
    isEmpty = false;
  }

  /** Notes a contribution; it is called by whoever takes one in another way. */
  protected final void took() {
    isEmpty = false;
  }

  /** Nothing has come since the last {@link #clear}. */
  public final boolean isEmpty() {
    return isEmpty;
  }

  /**
   * The value as files have it and Catalyst knows it, valid until the next contribution: null where
   * there are none, or where the type cannot hold it, which {@link #state} then does.
   */
  public abstract @Nullable Object value();

  /**
   * A read shows the value. Else the type cannot hold it, and only the state says it.
   *
   * @param value what {@link #value} just gave, where there are contributions
   */
  public boolean isShown(@Nullable Object value) {
    return value != null;
  }

  /** The state that later merges need beside the value; null where the value says all. */
  public byte @Nullable [] state() {
    return null;
  }

  protected abstract void reset();

  protected abstract void add(SpecializedGetters row, int ordinal);

  /** Takes a contribution with its version, which few reducers use. */
  protected void add(SpecializedGetters row, int ordinal, long version) {
    add(row, ordinal);
  }

  /** Takes a contribution back, where there is an inverse. */
  protected void subtract(SpecializedGetters row, int ordinal) {
    throw new UnsupportedOperationException("contributions to this reducer are not taken back");
  }

  /** Takes combined contributions; where the value says all, they are taken as one is. */
  protected void merge(SpecializedGetters row, int ordinal, byte @Nullable [] state) {
    add(row, ordinal);
  }
}
