package dev.carrel.server.rest;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.control.bridge.Bridge;
import dev.carrel.control.bridge.Form;
import dev.carrel.control.bridge.Variable;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.http.Fields;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * What a caller wants carried: a value to a variable, a variable to another, or what one holds.
 *
 * @param value null: what the variable holds
 * @param to null: nowhere, the caller wants to see it
 */
public record BridgeRequest(
    Variable variable, @Nullable JsonNode value, @Nullable Variable to, Form form) {

  /**
   * @param usual the language that is meant where none is named
   */
  public static BridgeRequest parse(SandboxId sandbox, Language usual, Fields fields) {
    var variable =
        new Variable(
            sandbox,
            language(fields, "language", usual),
            context(fields, "context_id"),
            fields.requiredString("name"));
    boolean moves =
        fields.has("to_language")
            || fields.has("to_sandbox_id")
            || fields.has("to_session_id")
            || fields.has("to_context_id")
            || fields.has("to_name");
    String other = fields.string("to_sandbox_id");
    other = other == null ? fields.string("to_session_id") : other;
    Variable to =
        moves
            ? new Variable(
                other == null ? sandbox : new SandboxId(other),
                language(fields, "to_language", variable.language()),
                context(fields, "to_context_id"),
                fields.string("to_name", variable.name()))
            : null;
    return new BridgeRequest(
        variable, fields.json("value"), to, Form.parse(fields.string("format", "json")));
  }

  private static Language language(Fields fields, String name, Language usual) {
    String text = fields.string(name);
    return text == null ? usual : Language.parse(text);
  }

  private static @Nullable ContextId context(Fields fields, String name) {
    String id = fields.string(name);
    return id == null ? null : new ContextId(id);
  }

  /** Does it. */
  public View run(Bridge bridge, Caller caller) throws IOException, InterruptedException {
    if (value != null) {
      return View.of(variable, bridge.set(caller, variable, form, value), null);
    }
    if (to != null) {
      return View.of(to, bridge.copy(caller, variable, to, form), null);
    }
    Bridge.Carried got = bridge.get(caller, variable, form);
    return View.of(variable, got.bytes(), got.value());
  }

  /**
   * What was done.
   *
   * @param value only when it went nowhere else
   */
  public record View(
      boolean success,
      String sandboxId,
      String language,
      String name,
      long sizeBytes,
      @Nullable JsonNode value) {
    static View of(Variable where, long bytes, @Nullable JsonNode value) {
      return new View(
          true, where.sandbox().value(), where.language().wireName(), where.name(), bytes, value);
    }
  }
}
