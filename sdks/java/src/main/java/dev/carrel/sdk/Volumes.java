package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The volumes of this token's owner, which outlive sandboxes. */
public final class Volumes {
  private static final TypeReference<Page> LIST = new TypeReference<>() {};
  private static final TypeReference<VolumeInfo> INFO = new TypeReference<>() {};
  private static final String PATH = "/api/v1/volumes";

  private final Transport transport;

  Volumes(Transport transport) {
    this.transport = transport;
  }

  /**
   * Makes one.
   *
   * @param sizeMb null: as large as a sandbox's disk by default
   */
  public VolumeInfo create(String name, @Nullable Long sizeMb) {
    Map<String, Object> body = new HashMap<>();
    body.put("name", name);
    if (sizeMb != null) {
      body.put("size_mb", sizeMb);
    }
    return transport.post(PATH, body, INFO);
  }

  public List<VolumeInfo> list() {
    return transport.get(PATH, LIST).volumes();
  }

  public VolumeInfo get(String name) {
    return transport.get(PATH + "/" + Transport.encode(name), INFO);
  }

  /** Removes it with its files, unless a sandbox has it. */
  public void delete(String name) {
    transport.delete(PATH + "/" + Transport.encode(name));
  }

  private record Page(List<VolumeInfo> volumes) {}
}
