package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The client behind a request that says everything about itself. */
final class StatelessPeer implements Peer {
  private final RpcMessage.Request request;
  private final ObjectNode capabilities;
  private final Outbox outbox;
  private final SignedState states;
  private final String owner;

  /**
   * @param owner whom and what the state belongs to that goes with the request
   */
  StatelessPeer(
      RpcMessage.Request request,
      ObjectNode capabilities,
      Outbox outbox,
      SignedState states,
      String owner) {
    this.request = request;
    this.capabilities = capabilities;
    this.outbox = outbox;
    this.states = states;
    this.owner = owner;
  }

  @Override
  public ObjectNode capabilities() {
    return capabilities;
  }

  @Override
  public void send(ObjectNode notification) {
    outbox.notice(notification);
  }

  @Override
  public Optional<LogLevel> logLevel() {
    return Optional.ofNullable(request.meta(Protocol.META_LOG_LEVEL)).map(LogLevel::parse);
  }

  @Override
  public ObjectNode ask(List<Inquiry> inquiries, @Nullable String state) {
    JsonNode given = request.params().path("inputResponses");
    if (!given.isMissingNode() && !given.isObject()) {
      throw RpcError.invalidParams("inputResponses must be an object");
    }
    ObjectNode answers = Protocol.object();
    for (Inquiry inquiry : inquiries) {
      JsonNode answer = given.get(inquiry.key());
      if (answer == null) {
        throw new InputRequired(inquiries, signed(state));
      }
      if (!inquiry.isAnsweredBy(answer)) {
        throw RpcError.invalidParams(
            "inputResponses." + inquiry.key() + " is not an answer to " + inquiry.kind().method());
      }
      answers.set(inquiry.key(), answer);
    }
    return answers;
  }

  private @Nullable String signed(@Nullable String state) {
    return state == null ? null : states.sign(owner, state);
  }

  @Override
  public Optional<String> state() {
    JsonNode state = request.params().get("requestState");
    if (state == null || state.isNull()) {
      return Optional.empty();
    }
    if (!state.isTextual()) {
      throw RpcError.invalidParams("requestState must be a string");
    }
    return Optional.of(states.read(owner, state.textValue()));
  }

  @Override
  public void hangUp() {
    // The stream is the request here: to end it would be to drop the answer.
  }
}
