package io.keylake.spark.access;

import io.keylake.tables.GuestApi;
import java.util.concurrent.Callable;
import java.util.function.Supplier;

/** Work with the rights of the server, whose plans are not asked for rights of their own. */
@GuestApi
public final class ServerWork {
  private static final ThreadLocal<Kind> OF_THREAD = ThreadLocal.withInitial(() -> Kind.NONE);

  private enum Kind {
    NONE,
    /** A call that a principal was permitted. */
    PERMITTED,
    /** Work that the server does by itself, for nobody. */
    OWN
  }

  private ServerWork() {}

  public static boolean isRunning() {
    return OF_THREAD.get() != Kind.NONE;
  }

  static boolean isOwn() {
    return OF_THREAD.get() == Kind.OWN;
  }

  /** Runs what a principal was permitted. */
  public static <T> T run(Supplier<T> work) {
    return as(isOwn() ? Kind.OWN : Kind.PERMITTED, work);
  }

  /** Runs what an argument of a permitted call says, with the rights of the caller alone. */
  public static <T> T asCaller(Supplier<T> work) {
    return isOwn() ? work.get() : as(Kind.NONE, work);
  }

  /** The same work, as the server's own. */
  public static Runnable own(Runnable work) {
    return () ->
        as(
            Kind.OWN,
            () -> {
              work.run();
              return true;
            });
  }

  /** The same work, in another thread with the rights of this one. */
  public static <T> Callable<T> carried(Supplier<T> work) {
    Kind kind = OF_THREAD.get();
    return () -> as(kind, work);
  }

  private static <T> T as(Kind kind, Supplier<T> work) {
    Kind before = OF_THREAD.get();
    OF_THREAD.set(kind);
    try {
      return work.get();
    } finally {
      OF_THREAD.set(before);
    }
  }
}
