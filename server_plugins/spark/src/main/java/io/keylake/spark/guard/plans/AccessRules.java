package io.keylake.spark.guard.plans;

import io.keylake.spark.access.AccessControl;
import org.apache.spark.sql.SparkSessionExtensions;

/** The rules that a session has where a policy is configured; without one it has none of them. */
public final class AccessRules {
  private AccessRules() {}

  public static void addTo(SparkSessionExtensions extensions) {
    AccessControl control = AccessControl.ofServer();
    if (control == null) {
      return;
    }
    extensions.injectPostHocResolutionRule(session -> new NarrowingRule(control, session));
    extensions.injectCheckRule(session -> new AccessCheck(control, session));
    extensions.injectPlanNormalizationRule(session -> new RecheckRule(control, session));
    extensions.injectOptimizerRule(session -> new SecuredRowsRules.Pushdown());
    extensions.injectPlannerStrategy(session -> new SecuredRowsRules.Strategy());
  }
}
