package dev.carrel.server.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.OutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** JSON in and out, with every dimension of the input bounded. */
public final class Json {
  private static final int MAX_DEPTH = 64;
  private static final int MAX_NUMBER = 64;
  private static final int MAX_NAME = 4096;

  static final ObjectMapper MAPPER =
      JsonMapper.builder(
              JsonFactory.builder()
                  .streamReadConstraints(
                      StreamReadConstraints.builder()
                          .maxNestingDepth(MAX_DEPTH)
                          .maxNumberLength(MAX_NUMBER)
                          .maxNameLength(MAX_NAME)
                          // A string can be as long as the body, which is bounded where it is read.
                          .maxStringLength(Integer.MAX_VALUE)
                          .build())
                  .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                  // What is written to goes on after a value.
                  .disable(StreamWriteFeature.AUTO_CLOSE_TARGET)
                  .disable(StreamWriteFeature.FLUSH_PASSED_TO_STREAM)
                  .build())
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
          .build();

  private Json() {}

  public static byte[] bytes(Object value) {
    try {
      return MAPPER.writeValueAsBytes(value);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a wire record cannot be written", e);
    }
  }

  /** What {@link #bytes} would write of a record. */
  public static ObjectNode tree(Record value) {
    return MAPPER.valueToTree(value);
  }

  /** Writes bit by bit; neither flushes nor closes. */
  static void write(OutputStream out, Object value) throws IOException {
    MAPPER.writeValue(out, value);
  }

  /** Equal for equal values, whatever the order of their members. */
  static String digest(JsonNode value) {
    try {
      byte[] text =
          MAPPER.writer().with(JsonNodeFeature.WRITE_PROPERTIES_SORTED).writeValueAsBytes(value);
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(text));
    } catch (JsonProcessingException | NoSuchAlgorithmException e) {
      throw new IllegalStateException("what was read cannot be written", e);
    }
  }

  public static JsonNode parse(byte[] body) {
    try {
      return MAPPER.readTree(body);
    } catch (JsonProcessingException e) {
      var at = e.getLocation();
      String where =
          at == null ? "" : " at line " + at.getLineNr() + ", column " + at.getColumnNr();
      throw HttpProblem.unreadable("body", "is not JSON, or not within its bounds," + where);
    } catch (IOException e) {
      // What looks like UTF-32 and is not.
      throw HttpProblem.unreadable("body", "is not text in Unicode");
    }
  }
}
