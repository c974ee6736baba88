package dev.carrel.sdk;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The persistent interpreters of one sandbox. */
public final class Contexts {
  private static final TypeReference<Context> CONTEXT = new TypeReference<>() {};
  private static final TypeReference<ContextList> CONTEXTS = new TypeReference<>() {};

  private final Transport transport;
  private final String path;

  Contexts(Transport transport, String sandboxPath) {
    this.transport = transport;
    this.path = sandboxPath + "/contexts";
  }

  /** Oldest first. */
  public List<Context> list() {
    return transport.get(path, CONTEXTS).contexts();
  }

  /** Starts an interpreter; returns when it is ready. */
  public Context create(String language) {
    return create(language, ContextOptions.defaults());
  }

  /** As {@link #create(String)}, in a way of its own. */
  public Context create(String language, ContextOptions options) {
    ObjectNode body = Transport.JSON.valueToTree(options);
    return transport.post(path, body.put("language", language), CONTEXT);
  }

  public Context get(String id) {
    return transport.get(path + "/" + Transport.encode(id), CONTEXT);
  }

  /** Stops what runs and keeps all state. */
  public void interrupt(String id) {
    transport.post(path + "/" + Transport.encode(id) + "/interrupt", Map.of());
  }

  /** Starts it afresh under the same id; all state is lost. */
  public Context restart(String id) {
    return transport.post(path + "/" + Transport.encode(id) + "/restart", Map.of(), CONTEXT);
  }

  /** Ends it and everything it started. */
  public void delete(String id) {
    transport.delete(path + "/" + Transport.encode(id));
  }

  /**
   * One interpreter.
   *
   * @param status idle, busy, or dead: the next execution starts a fresh interpreter
   * @param ofSandbox whether code without a context runs here
   * @param queued executions that wait
   * @param flavour plain or ipython
   * @param start zygote: forked from a warm interpreter; cold: started from scratch
   */
  public record Context(
      String id,
      String sandboxId,
      String language,
      @Nullable String languageVersion,
      @Nullable String flavour,
      @Nullable String start,
      String status,
      @JsonProperty("is_default") boolean ofSandbox,
      long executionCount,
      int queued,
      Instant createdAt,
      Instant lastUsedAt) {}

  private record ContextList(List<Context> contexts) {}
}
