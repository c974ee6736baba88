package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.approval.Approval;
import dev.carrel.control.approval.Approvals;
import dev.carrel.control.approval.AskApproval;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Inquiry;
import java.time.Duration;
import java.util.List;

/** Asks a person for something, and shows how that stands. */
final class Approving {
  private final Approvals approvals;

  Approving(Approvals approvals) {
    this.approvals = approvals;
  }

  /** How it stands after this time; the person at the client decides at once, if that one may. */
  Approval ask(Call call, AskApproval question, long seconds) throws InterruptedException {
    Approval asked = approvals.ask(call.caller(), question);
    if (asked.status() == Approval.Status.PENDING) {
      decide(call, asked);
    }
    return approvals.await(call.caller(), asked.id(), Duration.ofSeconds(seconds));
  }

  private void decide(Call call, Approval asked) throws InterruptedException {
    if (call.caller().role() != Caller.Role.ADMIN || !call.can(Inquiry.Kind.ELICITATION)) {
      return;
    }
    String what = asked.kind() == Approval.Kind.HOST_COMMAND ? "do this on the host:" : "reach";
    JsonNode answer =
        call.ask(
                List.of(
                    Inquiry.form(
                        "decision",
                        "May %s %s %s? The agent says: %s"
                            .formatted(whom(asked), what, asked.subject(), asked.reason()),
                        Schemas.of(
                            "{\"type\":\"object\",\"required\":[\"allow\"],\"properties\":{\"allow\":"
                                + "{\"type\":\"boolean\",\"title\":\"Allow\",\"default\":false}}}"))),
                null)
            .path("decision");
    String action = answer.path("action").asText();
    if (action.equals("cancel")) {
      return;
    }
    boolean allow = action.equals("accept") && answer.at("/content/allow").asBoolean(false);
    approvals.decide(call.caller(), asked.id(), allow, null, null, "asked through MCP");
  }

  /** As far as it would go: a person must not allow more than was read. */
  private static String whom(Approval asked) {
    String one =
        asked.sandbox() == null ? "namespace " + asked.namespace() : asked.sandbox().value();
    return switch (asked.scope()) {
      case ONCE -> one + ", once,";
      case SANDBOX -> one;
      case NAMESPACE -> "every sandbox of namespace " + asked.namespace();
    };
  }

  static ObjectNode view(Approval approval) {
    ObjectNode node =
        Schemas.object()
            .put("approval_id", approval.id().value())
            .put("kind", approval.kind().wireName())
            .put("subject", approval.subject())
            .put("scope", approval.scope().wireName())
            .put("namespace", approval.namespace())
            .put("status", approval.status().wireName())
            .put("approved", approval.status() == Approval.Status.APPROVED);
    if (approval.sandbox() != null) {
      node.put(Sessions.ARGUMENT, approval.sandbox().value());
    }
    if (approval.status() == Approval.Status.PENDING) {
      node.put("hint", "a person decides with: carrel approvals approve " + approval.id());
    }
    return node;
  }
}
