package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.sandbox.Caller;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One request that is being served: who asks, with what, and the way back. For one thread. */
public final class Call {
  private final ObjectNode params;
  private final Peer peer;
  private final Client client;

  /**
   * What a client says about itself beside its requests.
   *
   * @param sessionKey of the sandbox that is meant when none is named
   * @param toolsets that it wants
   * @param address what links to this server begin with
   */
  record Client(Caller caller, String sessionKey, Set<String> toolsets, String address) {
    Client {
      toolsets = Set.copyOf(toolsets);
    }
  }

  Call(Client client, ObjectNode params, Peer peer) {
    this.client = client;
    this.params = params;
    this.peer = peer;
  }

  public Caller caller() {
    return client.caller();
  }

  /** The key of the sandbox that is meant when a request names none. */
  public String sessionKey() {
    return client.sessionKey();
  }

  /** What links to this server begin with, as the client reaches it. */
  public String address() {
    return client.address();
  }

  /** Of a tool or a prompt. */
  public ObjectNode arguments() {
    return params.get("arguments") instanceof ObjectNode given ? given : Protocol.object();
  }

  /** An argument that the schema has shown to be text. */
  public String text(String name) {
    return arguments().path(name).asText();
  }

  /** A page of a list, by the cursor of the request. */
  public ObjectNode page(String name, List<ObjectNode> all) {
    return Methods.page(params, name, all, item -> item);
  }

  /** The address that the request is about. */
  public String uri() {
    return Methods.requiredText(params, "uri");
  }

  Set<String> toolsets() {
    return client.toolsets();
  }

  ObjectNode params() {
    return params;
  }

  /** Whether anybody would see {@link #progress}. */
  public boolean wantsProgress() {
    return RpcMessage.metaOf(params, "progressToken") != null;
  }

  /**
   * Tells how far it is; nothing happens unless the client asked for it.
   *
   * @param progress grows with each call
   * @param total null when it is not known
   * @param message what is going on
   */
  public void progress(double progress, @Nullable Double total, @Nullable String message) {
    JsonNode token = RpcMessage.metaOf(params, "progressToken");
    if (token == null) {
      return;
    }
    ObjectNode told = Protocol.object();
    told.set("progressToken", token);
    number(told, "progress", progress);
    if (total != null) {
      number(told, "total", total);
    }
    if (message != null) {
      told.put("message", message);
    }
    peer.send(Protocol.notification("notifications/progress", told));
  }

  private static void number(ObjectNode node, String name, double value) {
    if (value == Math.rint(value) && Math.abs(value) < 1e15) {
      node.put(name, (long) value);
    } else {
      node.put(name, value);
    }
  }

  /** Whether anybody would see {@link #log} of this level. */
  public boolean wantsLog(LogLevel level) {
    return peer.logLevel().filter(least -> least.compareTo(level) <= 0).isPresent();
  }

  public void log(LogLevel level, String logger, String text) {
    if (wantsLog(level)) {
      peer.send(
          Protocol.notification(
              "notifications/message",
              Protocol.object()
                  .put("level", level.wireName())
                  .put("logger", logger)
                  .put("data", text)));
    }
  }

  /** Whether the client can be asked for this. */
  public boolean can(Inquiry.Kind kind) {
    return peer.capabilities().has(kind.capability());
  }

  /** Refuses the request unless the client can be asked for this. */
  public void require(Inquiry.Kind kind) {
    if (!can(kind)) {
      throw RpcError.missingCapability(kind.capability());
    }
  }

  /**
   * Has the client answer. In the era without sessions the whole request ends here, and begins
   * again when the client has the answers: what was done before must bear to be done twice, or be
   * remembered in the state.
   *
   * @param state what {@link #state()} gives when the request is made again
   */
  public ObjectNode ask(List<Inquiry> inquiries, @Nullable String state)
      throws InterruptedException {
    inquiries.forEach(inquiry -> require(inquiry.kind()));
    return peer.ask(inquiries, state);
  }

  public Optional<String> state() {
    return peer.state();
  }

  /** Ends the stream to the client, who comes back for the rest. */
  public void hangUp() {
    peer.hangUp();
  }
}
