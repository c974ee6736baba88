package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The client behind one request, in the manner of its era. */
interface Peer {
  /** What it says it can do. */
  ObjectNode capabilities();

  /** Sends a notification that belongs to the request. */
  void send(ObjectNode notification);

  /** The least important log message that it wants; empty: none. */
  Optional<LogLevel> logLevel();

  /**
   * Has the client answer. Returns an answer for each by its key, or ends the request so that it is
   * made again with the answers.
   *
   * @param state for whoever handles the repeated request; null: none
   */
  ObjectNode ask(List<Inquiry> inquiries, @Nullable String state) throws InterruptedException;

  /** The state that came back with the answers. */
  Optional<String> state();

  /** Ends the stream that the client reads, who then has to come back for the rest. */
  void hangUp();
}
