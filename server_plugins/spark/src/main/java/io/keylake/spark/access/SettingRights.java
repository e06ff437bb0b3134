package io.keylake.spark.access;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The settings of a session that a principal may set and see. */
public final class SettingRights {
  private static final String CATALOGS = "spark.sql.catalog.";

  /** The setting with which SQL names files in the place of tables. */
  public static final String QUERIES_OF_FILES = "spark.sql.runSQLOnFiles";

  private SettingRights() {}

  /**
   * Refuses to set or unset a setting that opens another catalog, or that says who asks.
   *
   * @param setting null for all of them
   */
  public static void check(AccessControl control, String principal, @Nullable String setting) {
    String name = setting == null ? "" : setting.strip().toLowerCase(Locale.ROOT);
    if (name.equals(AccessControl.SEAL) || name.equals(AccessControl.POLICY)) {
      throw AccessControl.refusal(
          "the setting %s belongs to the access policy; sessions may neither see nor set it"
              .formatted(name));
    }
    if (name.isEmpty()
        || name.startsWith(CATALOGS)
        || name.startsWith("spark.hadoop.")
        || name.equals(QUERIES_OF_FILES.toLowerCase(Locale.ROOT))) {
      control.require(
          principal, Right.FILES, name.isEmpty() ? "all settings at once" : "setting " + name);
    }
  }

  /**
   * Refuses to show a setting that can have a password in it; the class of a catalog has none.
   *
   * @param setting null for all of them
   */
  public static void checkShown(AccessControl control, String principal, @Nullable String setting) {
    boolean isClass =
        setting != null
            && setting.startsWith(CATALOGS)
            && setting.indexOf('.', CATALOGS.length()) < 0;
    if (!isClass) {
      check(control, principal, setting);
    }
  }
}
