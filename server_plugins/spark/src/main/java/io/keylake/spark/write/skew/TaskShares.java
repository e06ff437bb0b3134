package io.keylake.spark.write.skew;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The shares of tasks in the partitions of a shuffle. Small neighbours are one task. A partition is
 * hot, and has to be divided, where it has much more than its share, or where there are fewer than
 * cores that could work on them: what divides it is one more shuffle of its rows, so that
 * partitions are left whole where all cores have their share of them.
 *
 * @param whole tasks of whole partitions, in order
 * @param hot partitions
 * @param bytes that a task should have
 */
record TaskShares(List<Share> whole, List<Integer> hot, double bytes) {
  private static final double LOOSE = 1.5; // what is this much over the limit is left whole

  /** The partitions of a task, without the end. */
  record Share(int begin, int end) {}

  /**
   * @param partitions what each has, in bytes
   * @param cores that run tasks; each should have as much to do as others
   */
  static TaskShares of(long[] partitions, int cores, TaskSize size) {
    long all = Arrays.stream(partitions).sum();
    long filled = Arrays.stream(partitions).filter(bytes -> bytes > 0).count();
    long many = Math.min(tasks(all, partitions.length, cores, size), Math.max(filled, cores));
    double limit = (double) all / many;
    List<Integer> hot = new ArrayList<>();
    List<Share> whole = new ArrayList<>();
    double before = 0;
    int begin = 0;
    long number = 0;
    for (int i = 0; i < partitions.length; i++) {
      boolean isHot = all > size.bytes() && partitions[i] > LOOSE * limit;
      double bytes = isHot ? 0 : partitions[i];
      // A partition belongs to the task in whose part of all bytes its middle lies.
      long own = limit == 0 ? 0 : (long) ((before + bytes / 2) / limit);
      if (isHot || own != number) {
        add(whole, begin, i);
        begin = isHot ? i + 1 : i;
        number = own;
      }
      if (isHot) {
        hot.add(i);
      }
      before += bytes;
    }
    add(whole, begin, partitions.length);
    return new TaskShares(whole, hot, limit);
  }

  private static void add(List<Share> whole, int begin, int end) {
    if (begin < end) {
      whole.add(new Share(begin, end));
    }
  }

  private static long tasks(long all, int partitions, int cores, TaskSize size) {
    if (size.isFixed()) {
      return partitions;
    }
    long wanted = (all + size.bytes() - 1) / size.bytes();
    long even = (wanted + cores - 1) / cores * cores;
    long most = Math.min(partitions, all / Math.max(size.leastBytes(), 1));
    return Math.max(Math.min(even, most), 1);
  }

  /** The number of tasks that a part of all bytes should have. */
  int tasksFor(long part) {
    return (int) Math.ceil(part / bytes);
  }
}
