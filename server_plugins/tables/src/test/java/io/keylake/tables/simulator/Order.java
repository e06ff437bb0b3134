package io.keylake.tables.simulator;

/** Decides before a call whether another actor goes on first. */
@FunctionalInterface
interface Order {
  /** The order that a script says with its events. */
  Order OF_EVENTS = (actor, call) -> {};

  void before(Actor actor, Call call);
}
