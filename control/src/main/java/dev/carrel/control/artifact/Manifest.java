package dev.carrel.control.artifact;

import dev.carrel.control.audit.SigningKey;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Locale;

/**
 * The artifacts of a sandbox under one signature: an in-toto statement in a DSSE envelope, which
 * tools of others can check as well.
 *
 * @param payload what is signed, base64
 * @param signature over the payload's type and bytes (PAE of DSSE), base64
 */
public record Manifest(String payloadType, String payload, String key, String signature) {
  static final String TYPE = "application/vnd.in-toto+json";

  private static final String STATEMENT = "https://in-toto.io/Statement/v1";
  private static final String PREDICATE = "urn:carrel:artifacts:1";

  static Manifest of(SigningKey key, String sandbox, Instant at, List<Artifact> artifacts) {
    byte[] payload = statement(sandbox, at, artifacts).getBytes(StandardCharsets.UTF_8);
    Base64.Encoder base64 = Base64.getEncoder();
    return new Manifest(
        TYPE,
        base64.encodeToString(payload),
        key.id(),
        base64.encodeToString(key.sign(encoded(payload))));
  }

  /** DSSE's pre-authentication encoding. */
  static byte[] encoded(byte[] payload) {
    var out = new ByteArrayOutputStream();
    out.writeBytes(
        "DSSEv1 %d %s %d "
            .formatted(TYPE.length(), TYPE, payload.length)
            .getBytes(StandardCharsets.US_ASCII));
    out.writeBytes(payload);
    return out.toByteArray();
  }

  private static String statement(String sandbox, Instant at, List<Artifact> artifacts) {
    var subjects = new StringBuilder();
    var facts = new StringBuilder();
    String separator = "";
    for (Artifact artifact : artifacts) {
      subjects
          .append(separator)
          .append("{\"name\":")
          .append(quoted(artifact.path()))
          .append(",\"digest\":{\"sha256\":\"")
          .append(artifact.sha256())
          .append("\"}}");
      facts
          .append(separator)
          .append("{\"name\":")
          .append(quoted(artifact.path()))
          .append(",\"size\":")
          .append(artifact.size())
          .append(",\"mime\":")
          .append(quoted(artifact.mime()))
          .append(",\"signed_at\":\"")
          .append(artifact.signedAt())
          .append("\"}");
      separator = ",";
    }
    return "{\"_type\":\"%s\",\"subject\":[%s],\"predicateType\":\"%s\",\"predicate\":{\"sandbox_id\":\"%s\",\"at\":\"%s\",\"artifacts\":[%s]}}"
        .formatted(STATEMENT, subjects, PREDICATE, sandbox, at, facts);
  }

  /** As JSON: the names are a sandbox's. */
  static String quoted(String text) {
    var out = new StringBuilder(text.length() + 2).append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < 0x20 || c == 0x7f || Character.isSurrogate(c)) {
        out.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }
}
