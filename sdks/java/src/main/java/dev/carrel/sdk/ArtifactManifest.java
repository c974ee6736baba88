package dev.carrel.sdk;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Artifacts under one signature, a DSSE envelope around an in-toto statement. What it says counts
 * only once a key has {@linkplain ArtifactKey#digests opened} it.
 */
public record ArtifactManifest(
    @JsonProperty("payloadType") String payloadType, String payload, List<Signature> signatures) {
  static final String TYPE = "application/vnd.in-toto+json";

  private static final int MAX_FILE = 16 * 1024 * 1024;

  /** By one key. */
  public record Signature(String keyid, String sig) {}

  /** Reads one that was written by {@link #write}. */
  public static ArtifactManifest read(Path file) throws IOException {
    if (Files.size(file) > MAX_FILE) {
      throw new IOException(file + " is too large for a manifest");
    }
    return Transport.JSON.readValue(Files.readAllBytes(file), ArtifactManifest.class);
  }

  public void write(Path file) throws IOException {
    Files.writeString(
        file, Transport.JSON.writerWithDefaultPrettyPrinter().writeValueAsString(this) + "\n");
  }

  /** What the signatures are of. */
  byte[] signed() {
    byte[] statement = Base64.getDecoder().decode(payload);
    byte[] head =
        "DSSEv1 %d %s %d "
            .formatted(TYPE.length(), TYPE, statement.length)
            .getBytes(StandardCharsets.US_ASCII);
    byte[] all = new byte[head.length + statement.length];
    System.arraycopy(head, 0, all, 0, head.length);
    System.arraycopy(statement, 0, all, head.length, statement.length);
    return all;
  }

  /** Digest by path, as it says. */
  Map<String, String> subjects() throws IOException {
    JsonNode statement = Transport.JSON.readTree(Base64.getDecoder().decode(payload));
    var digests = new LinkedHashMap<String, String>();
    for (JsonNode subject : statement.path("subject")) {
      digests.put(subject.path("name").asText(), subject.path("digest").path("sha256").asText());
    }
    return digests;
  }
}
