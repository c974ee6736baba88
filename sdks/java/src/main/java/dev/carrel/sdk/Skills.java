package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** The skills of this token's owner. */
public final class Skills {
  private static final TypeReference<Page> LIST = new TypeReference<>() {};
  private static final TypeReference<SkillInfo> INFO = new TypeReference<>() {};
  private static final String PATH = "/api/v1/skills";

  private final Transport transport;

  Skills(Transport transport) {
    this.transport = transport;
  }

  /** By name, without their files. */
  public List<SkillInfo> list() {
    return transport.get(PATH, LIST).skills();
  }

  /**
   * With its files.
   *
   * @param skill its id or its name
   */
  public SkillInfo get(String skill) {
    return transport.get(path(skill), INFO);
  }

  /** Keeps a skill, or its next version: a {@code .zip}, {@code .skill} or {@code .md}. */
  public SkillInfo upload(Path file) throws FileNotFoundException {
    return upload(String.valueOf(file.getFileName()), BodyPublishers.ofFile(file));
  }

  /**
   * As {@link #upload(Path)}.
   *
   * @param filename says by its ending what it is
   */
  public SkillInfo upload(String filename, byte[] content) {
    return upload(filename, BodyPublishers.ofByteArray(content));
  }

  private SkillInfo upload(String filename, BodyPublisher content) {
    return transport.read(
        transport.send(
            transport
                .request(PATH + "/upload" + Transport.query(Map.of("filename", filename)))
                .header("Content-Type", "application/octet-stream")
                .POST(content)),
        INFO);
  }

  /** The bytes of one of its files. */
  public byte[] read(String skill, String file) {
    String address = path(skill) + "/files/" + Transport.encodePath(file);
    try (InputStream in = transport.send(transport.request(address).GET()).body()) {
      return in.readAllBytes();
    } catch (IOException e) {
      throw CarrelException.unreachable("reading " + file + " broke off: " + e.getMessage(), e);
    }
  }

  /** Sandboxes keep what they have of it. */
  public void delete(String skill) {
    transport.delete(path(skill));
  }

  private static String path(String skill) {
    return PATH + "/" + Transport.encode(skill);
  }

  record Page(List<SkillInfo> skills) {}
}
