package dev.carrel.server;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import dev.carrel.server.LiveServer.Event;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads server-sent events as a browser would; comments come as events without a name. */
public final class EventReader implements AutoCloseable {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final BufferedReader lines;

  public EventReader(InputStream in) {
    lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
  }

  public @Nullable Event next() throws IOException {
    String name = "";
    String id = "";
    String data = "";
    boolean any = false;
    for (String line; (line = lines.readLine()) != null; any = true) {
      if (line.isEmpty() && any) {
        return new Event(
            name, id, data.isEmpty() ? MissingNode.getInstance() : MAPPER.readTree(data));
      }
      int colon = line.indexOf(": ");
      String value = colon < 0 ? "" : line.substring(colon + 2);
      switch (colon < 0 ? line : line.substring(0, colon)) {
        case "event" -> name = value;
        case "id" -> id = value;
        case "data" -> data = value;
        default -> {}
      }
    }
    return null;
  }

  /** The next event of this name; others are skipped. */
  public Event next(String name) throws IOException {
    for (Event event; (event = next()) != null; ) {
      if (event.name().equals(name)) {
        return event;
      }
    }
    throw new AssertionError("the stream ended without a " + name);
  }

  public List<Event> rest() throws IOException {
    var events = new ArrayList<Event>();
    for (Event event; (event = next()) != null; ) {
      events.add(event);
    }
    return events;
  }

  @Override
  public void close() throws IOException {
    lines.close();
  }
}
