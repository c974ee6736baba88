package dev.carrel.sdk;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** Server-sent events, read one at a time on the caller's thread. */
final class ServerEvents implements AutoCloseable {
  /** The name, {@code message} unless given, its JSON, and its id, 0 unless given. */
  record Event(String name, String data, long id) {
    JsonNode json() {
      try {
        return Transport.JSON.readTree(data);
      } catch (JsonProcessingException e) {
        throw CarrelException.unreachable("an event that is not JSON: " + name, e);
      }
    }

    <T> T as(Class<T> type) {
      try {
        return Transport.JSON.readValue(data, type);
      } catch (JsonProcessingException e) {
        throw CarrelException.unreachable("an event that is not a " + type.getSimpleName(), e);
      }
    }
  }

  private final InputStream body;
  private final BufferedReader lines;
  private volatile boolean closed;

  ServerEvents(InputStream body) {
    this.body = body;
    lines = new BufferedReader(new InputStreamReader(body, StandardCharsets.UTF_8), 64 * 1024);
  }

  /**
   * Waits for the next event; empty at the end of the stream or once closed.
   *
   * @throws CarrelException for the event {@code failure}, and when the connection breaks
   */
  Optional<Event> next() {
    try {
      Optional<Event> event = read();
      if (event.isPresent() && event.get().name().equals("failure")) {
        throw Transport.failure(0, event.get().json());
      }
      return event;
    } catch (IOException e) {
      if (closed) {
        return Optional.empty();
      }
      throw CarrelException.unreachable("the stream of events broke off: " + e.getMessage(), e);
    }
  }

  private Optional<Event> read() throws IOException {
    String name = "message";
    StringBuilder data = null;
    long id = 0;
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.isEmpty()) {
        if (data != null) {
          return Optional.of(new Event(name, data.toString(), id));
        }
        name = "message";
      } else if (line.startsWith("event:")) {
        name = value(line, 6);
      } else if (line.startsWith("id:")) {
        id = number(value(line, 3));
      } else if (line.startsWith("data:")) {
        data = data == null ? new StringBuilder() : data.append('\n');
        data.append(value(line, 5));
      }
    }
    return Optional.empty();
  }

  private static String value(String line, int start) {
    return line.substring(line.startsWith(" ", start) ? start + 1 : start);
  }

  private static long number(String text) throws IOException {
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new IOException("an event whose id is not a number", e);
    }
  }

  /** Ends the request; what it asked for is cancelled unless it runs in the background. */
  @Override
  public void close() {
    closed = true;
    try {
      // Not the reader: that one would wait for the thread that reads from it.
      body.close();
    } catch (IOException alreadyBroken) {
      return;
    }
  }
}
