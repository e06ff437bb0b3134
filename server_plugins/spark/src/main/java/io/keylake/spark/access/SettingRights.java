package io.keylake.spark.access;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The settings of a session that a principal may set and see. */
public final class SettingRights {
  private static final String CATALOGS = "spark.sql.catalog.";

  /**
   * The settings of a session whose principal may not open files: with the first, SQL names files
   * in the place of tables, and Spark opens them before a rule sees it; with the second, texts of
   * settings and of the server's environment stand in SQL.
   */
  public static final Map<String, String> WITHOUT_FILES =
      Map.of(
          "spark.sql.runSQLOnFiles", "false",
          "spark.sql.variable.substitute", "false");

  /**
   * The settings of a session whose principal may not run code: clients that compressed large plans
   * would be refused, since nobody looks into these.
   */
  public static final Map<String, String> WITHOUT_CODE =
      Map.of("spark.connect.session.planCompression.threshold", "-1");

  /** Beginnings of settings that open other catalogs and stores, or lead plans past the rules. */
  private static final List<String> CLOSED =
      List.of(CATALOGS, "spark.hadoop.", "spark.sql.analyzer.", "spark.sql.legacy.");

  /** Names as Spark redacts them in its own lists. */
  private static final Pattern SECRET =
      Pattern.compile("secret|password|passphrase|token|credential|access\\.?key");

  private SettingRights() {}

  /**
   * Refuses to set or unset a setting that opens what rules do not name, or that says who asks.
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
    if (!name.startsWith("spark.") // all settings are part of Hadoop's, which opens stores
        || CLOSED.stream().anyMatch(name::startsWith)
        || WITHOUT_FILES.keySet().stream().anyMatch(name::equalsIgnoreCase)) {
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
    if (setting != null && SECRET.matcher(setting.toLowerCase(Locale.ROOT)).find()) {
      control.require(principal, Right.FILES, "setting " + setting);
    }
    if (!isClass) {
      check(control, principal, setting);
    }
  }
}
