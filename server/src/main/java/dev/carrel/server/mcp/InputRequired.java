package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Ends a request of the era without sessions: the client is to ask again, with answers. */
final class InputRequired extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient List<Inquiry> inquiries;
  private final @Nullable String state;

  InputRequired(List<Inquiry> inquiries, @Nullable String state) {
    super("input is required", null, false, false);
    this.inquiries = inquiries;
    this.state = state;
  }

  ObjectNode result() {
    ObjectNode result = Protocol.object().put("resultType", "input_required");
    ObjectNode requests = result.putObject("inputRequests");
    inquiries.forEach(inquiry -> requests.set(inquiry.key(), inquiry.toJson()));
    if (state != null) {
      result.put("requestState", state);
    }
    return result;
  }
}
