package dev.carrel.server.http;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Server-sent events to one client, each sent at once. For one thread. A write that fails means
 * that the client has gone.
 */
public final class EventStream {
  private static final byte[] KEEP_ALIVE = ": keep-alive\n\n".getBytes(StandardCharsets.US_ASCII);

  private static final int BUFFER = 64 * 1024;

  /** Makes one write of an event, unless it is large. */
  private final OutputStream out;

  private final Duration keepAlive;

  EventStream(OutputStream out, Duration keepAlive) {
    this.out = new BufferedOutputStream(out, BUFFER);
    this.keepAlive = keepAlive;
  }

  /** How long to wait for the next event before {@link #keepAlive()} is due. */
  public Duration patience() {
    return keepAlive;
  }

  public void send(String event, Object data) throws IOException {
    begin("event: " + event);
    Json.write(out, data);
    end();
  }

  /**
   * As {@link #send(String, Object)}.
   *
   * @param id where a client can resume
   */
  public void send(String event, long id, Object data) throws IOException {
    begin("id: " + id + "\nevent: " + event);
    Json.write(out, data);
    end();
  }

  /**
   * Sends a single text, the way most events look.
   *
   * @param id where a client can resume
   */
  public void send(String event, long id, String field, String value) throws IOException {
    begin("id: " + id + "\nevent: " + event);
    text(field, value);
    end();
  }

  public void send(String event, String field, String value) throws IOException {
    begin("event: " + event);
    text(field, value);
    end();
  }

  /**
   * Sends a message that needs no name.
   *
   * @param id where a client can resume; null: nowhere
   */
  public void message(@Nullable String id, Object data) throws IOException {
    begin(id == null ? "event: message" : "id: " + id + "\nevent: message");
    Json.write(out, data);
    end();
  }

  /** Sends data alone, for those who look at nothing else. */
  public void data(Object data) throws IOException {
    ascii("data: ");
    Json.write(out, data);
    end();
  }

  /** Tells where a client can resume, and after which time, before there is anything to send. */
  public void prime(String id, Duration retry) throws IOException {
    begin("id: " + id + "\nretry: " + retry.toMillis());
    end();
  }

  public void keepAlive() throws IOException {
    out.write(KEEP_ALIVE);
    out.flush();
  }

  private void begin(String lines) throws IOException {
    ascii(lines);
    ascii("\ndata: ");
  }

  private void text(String field, String value) throws IOException {
    try (JsonGenerator json = Json.MAPPER.createGenerator(out)) {
      json.writeStartObject();
      json.writeStringField(field, value);
      json.writeEndObject();
    }
  }

  private void ascii(String text) throws IOException {
    out.write(text.getBytes(StandardCharsets.US_ASCII));
  }

  private void end() throws IOException {
    ascii("\n\n");
    out.flush();
  }
}
