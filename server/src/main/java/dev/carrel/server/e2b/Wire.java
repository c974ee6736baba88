package dev.carrel.server.e2b;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.carrel.server.http.Exchange;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.io.OutputStream;

/** JSON as E2B writes it: names as they are in the records, and nothing for what is absent. */
final class Wire {
  // ASCII only: a client decodes each piece of the network by itself.
  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .defaultPropertyInclusion(
              JsonInclude.Value.construct(
                  JsonInclude.Include.NON_NULL, JsonInclude.Include.NON_NULL))
          .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
          .disable(StreamWriteFeature.AUTO_CLOSE_TARGET)
          .disable(StreamWriteFeature.FLUSH_PASSED_TO_STREAM)
          .build();

  private Wire() {}

  static byte[] bytes(Object value) {
    try {
      return MAPPER.writeValueAsBytes(value);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a wire record cannot be written", e);
    }
  }

  /** As {@link #bytes}, bit by bit; neither flushes nor closes. */
  static void write(OutputStream out, Object value) throws IOException {
    MAPPER.writeValue(out, value);
  }

  static void json(Exchange exchange, int status, Object value) {
    exchange.header(HeaderNames.CONTENT_TYPE, "application/json");
    exchange.bytes(status, bytes(value));
  }
}
