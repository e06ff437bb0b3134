package io.keylake.tables.simulator;

/** A process in which actors run: they share its clock, and end with it. */
final class Server {
  final int number;

  /** How far its clock is ahead of the world's; negative where it is behind. */
  long aheadMillis;

  /** How often it has crashed. */
  int crashes;

  /** How many calls of its actors have met a fault. */
  int faults;

  Server(int number) {
    this.number = number;
  }
}
