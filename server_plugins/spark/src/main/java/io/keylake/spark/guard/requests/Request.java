package io.keylake.spark.guard.requests;

import io.keylake.spark.access.AccessControl;
import io.keylake.spark.access.Right;
import io.keylake.spark.access.SettingRights;
import io.keylake.spark.write.sent.SentRows;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.connect.proto.AddArtifactsRequest;
import org.apache.spark.connect.proto.Command;
import org.apache.spark.connect.proto.ConfigRequest;
import org.apache.spark.connect.proto.KeyValue;
import org.apache.spark.connect.proto.Read;
import org.apache.spark.connect.proto.ReleaseSessionRequest;
import org.apache.spark.sql.RuntimeConfig;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connect.service.SessionHolder;
import org.apache.spark.sql.connect.service.SessionKey;
import org.apache.spark.sql.connect.service.SparkConnectService$;
import org.sparkproject.connect.protobuf.Descriptors.FieldDescriptor;
import org.sparkproject.connect.protobuf.Message;
import org.sparkproject.connect.protobuf.MessageOrBuilder;
import scala.Option;

/**
 * The look at one request. A plan that is executed is checked by rules later; here is what runs
 * before there is one, or shows in none: functions and sources in the client's language, artifacts,
 * settings.
 */
final class Request {
  private static final String USER_CONTEXT = "user_context";
  private static final String USER_ID = "user_id";
  private static final String SESSION_ID = "session_id";

  /** Messages that have code of the client in them, or make the server run code of others. */
  private static final Set<String> OF_CODE =
      Set.of(
          "CommonInlineUserDefinedFunction",
          "CommonInlineUserDefinedTableFunction",
          "CommonInlineUserDefinedDataSource",
          "StreamingForeachFunction",
          "PythonUDF",
          "JavaUDF",
          "ScalarScalaUDF",
          "StreamingQueryListenerBusCommand",
          "StreamingQueryListenerCommand",
          "TypedAggregateExpression",
          "MlCommand",
          "MlRelation",
          "PipelineCommand",
          "CreateResourceProfileCommand",
          "Any");

  /** Commands that rules see as plans, or that have no code in them. */
  private static final Set<String> KNOWN_COMMANDS =
      Set.of(
          "write_operation",
          "write_operation_v2",
          "create_dataframe_view",
          "sql_command",
          "merge_into_table_command",
          "write_stream_operation_start",
          "streaming_query_command",
          "streaming_query_manager_command",
          "get_resources_command",
          "checkpoint_command",
          "remove_cached_remote_relation_command");

  /** Messages whose bytes are rows or values; other bytes are code, or could be. */
  private static final Set<String> WITH_BYTES = Set.of("LocalRelation", "Literal");

  private static final Set<String> OF_FILES = Set.of("CreateExternalTable");

  /** Sources whose paths are names of tables, which rules check, and that of sent rows. */
  private static final Set<String> OF_TABLES =
      Set.of("iceberg", "keylake", SentRows.class.getName().toLowerCase(Locale.ROOT));

  /** Artifacts that are rows of a client, and no code. */
  private static final String ROWS = "cache/";

  private final AccessControl control;
  private final String principal;

  Request(AccessControl control, String principal) {
    this.control = control;
    this.principal = principal;
  }

  String principal() {
    return principal;
  }

  /** The id of the session that a request is for; empty where it is for none. */
  static String session(Message request) {
    FieldDescriptor id = request.getDescriptorForType().findFieldByName(SESSION_ID);
    return id == null ? "" : (String) request.getField(id);
  }

  /** The same request, as one of the principal, in a session of its own. */
  Message ofPrincipal(Message message) {
    if (!(message instanceof ReleaseSessionRequest)) {
      seal(session(message));
    }
    if (message instanceof AddArtifactsRequest artifacts) {
      check(artifacts);
    } else if (message instanceof ConfigRequest config) {
      check(config);
    } else {
      checkContent(message);
    }
    FieldDescriptor context = message.getDescriptorForType().findFieldByName(USER_CONTEXT);
    if (context == null) {
      return message;
    }
    Message.Builder changed = message.toBuilder();
    Message.Builder user = changed.getFieldBuilder(context);
    user.setField(user.getDescriptorForType().findFieldByName(USER_ID), principal);
    return changed.build();
  }

  /** The session learns whose it is before anything runs in it. */
  private void seal(String session) {
    if (session.isEmpty()) {
      return;
    }
    SessionHolder holder;
    try {
      holder =
          SparkConnectService$.MODULE$
              .sessionManager()
              .getOrCreateIsolatedSession(SessionKey.apply(principal, session), Option.empty());
    } catch (RuntimeException e) {
      return; // a session that has ended, which Spark says itself
    }
    String seal = control.seal(principal);
    RuntimeConfig conf = ((SparkSession) holder.session()).conf();
    if (!Option.apply(seal).equals(conf.getOption(AccessControl.SEAL))) {
      conf.set(AccessControl.SEAL, seal);
      if (!control.may(principal, Right.FILES)) {
        SettingRights.WITHOUT_FILES.forEach(conf::set);
      }
      if (!control.may(principal, Right.RUN_CODE)) {
        SettingRights.WITHOUT_CODE.forEach(conf::set);
      }
    }
  }

  private void check(AddArtifactsRequest request) {
    request.getBatch().getArtifactsList().forEach(artifact -> checkArtifact(artifact.getName()));
    if (request.hasBeginChunk()) {
      checkArtifact(request.getBeginChunk().getName());
    }
  }

  private void checkArtifact(String name) {
    if (!name.startsWith(ROWS)) {
      control.require(principal, Right.RUN_CODE, "artifact " + name);
    }
  }

  private void check(ConfigRequest request) {
    ConfigRequest.Operation operation = request.getOperation();
    operation.getSet().getPairsList().stream().map(KeyValue::getKey).forEach(this::checkSet);
    operation.getUnset().getKeysList().forEach(this::checkSet);
    operation.getGet().getKeysList().forEach(this::checkShown);
    operation.getGetOption().getKeysList().forEach(this::checkShown);
    operation.getGetWithDefault().getPairsList().stream()
        .map(KeyValue::getKey)
        .forEach(this::checkShown);
    if (operation.hasGetAll()) {
      control.require(principal, Right.FILES, "all settings at once");
    }
  }

  private void checkSet(String setting) {
    SettingRights.check(control, principal, setting);
  }

  private void checkShown(String setting) {
    SettingRights.checkShown(control, principal, setting);
  }

  /** Messages inside of messages, down to the last. */
  private void checkContent(MessageOrBuilder message) {
    String name = message.getDescriptorForType().getName();
    if (name.equals("UserContext")) {
      return;
    }
    if (OF_CODE.contains(name) || hasUnknownCommand(message) || hasUnknownBytes(message)) {
      control.require(principal, Right.RUN_CODE, "code in a request");
    }
    if (OF_FILES.contains(name)
        || (message instanceof Read.DataSource source
            && !OF_TABLES.contains(source.getFormat().toLowerCase(Locale.ROOT)))) {
      control.require(principal, Right.FILES, "a source of files in a request");
    }
    for (Object value : message.getAllFields().values()) {
      if (value instanceof MessageOrBuilder inner) {
        checkContent(inner);
      } else if (value instanceof Iterable<?> list) {
        list.forEach(
            each -> {
              if (each instanceof MessageOrBuilder inner) {
                checkContent(inner);
              }
            });
      }
    }
  }

  private static boolean hasUnknownCommand(MessageOrBuilder message) {
    return message instanceof Command
        && message.getAllFields().keySet().stream()
            .anyMatch(field -> !KNOWN_COMMANDS.contains(field.getName()));
  }

  private static boolean hasUnknownBytes(MessageOrBuilder message) {
    return !WITH_BYTES.contains(message.getDescriptorForType().getName())
        && message.getAllFields().keySet().stream()
            .anyMatch(field -> field.getJavaType() == FieldDescriptor.JavaType.BYTE_STRING);
  }
}
