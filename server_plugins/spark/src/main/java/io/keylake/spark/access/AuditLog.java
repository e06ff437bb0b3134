package io.keylake.spark.access;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Instant;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.config.Configurator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The log of what principals have asked for, a line of JSON for each. It has no texts of statements
 * and no values of tables.
 */
final class AuditLog {
  /** The name by which Log4j sends the lines elsewhere. */
  static final String NAME = "io.keylake.audit";

  private static final Logger LOG = LoggerFactory.getLogger(NAME);
  private static final JsonMapper JSON = new JsonMapper();

  private AuditLog() {}

  /** Lets all lines through, unless the configuration of the server says what it wants of them. */
  static void open() {
    if (LoggerContext.getContext(false)
        .getConfiguration()
        .getLoggerConfig(NAME)
        .getName()
        .isEmpty()) {
      Configurator.setLevel(NAME, Level.INFO);
    }
  }

  static void write(String principal, Need need, boolean isAllowed) {
    if (!LOG.isInfoEnabled() && isAllowed) {
      return;
    }
    ObjectNode line = JSON.createObjectNode();
    line.put("time", Instant.now().toString());
    line.put("principal", principal);
    line.put("right", need.right().word());
    line.put("table", need.table());
    line.put("branch", need.branch());
    line.put("subject", need.subject());
    line.put("allowed", isAllowed);
    if (isAllowed) {
      LOG.info("{}", line);
    } else {
      LOG.warn("{}", line);
    }
  }
}
