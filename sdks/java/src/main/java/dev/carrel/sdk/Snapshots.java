package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.util.List;

/** The snapshots of this token's owner. */
public final class Snapshots {
  static final TypeReference<Page> LIST = new TypeReference<>() {};
  private static final TypeReference<SnapshotInfo> INFO = new TypeReference<>() {};
  private static final String PATH = "/api/v1/snapshots";

  private final Transport transport;

  Snapshots(Transport transport) {
    this.transport = transport;
  }

  /** Newest first, also of sandboxes that are gone. */
  public List<SnapshotInfo> list() {
    return transport.get(PATH, LIST).snapshots();
  }

  public SnapshotInfo get(String id) {
    return transport.get(PATH + "/" + Transport.encode(id), INFO);
  }

  /** Sandboxes made from it keep their files. */
  public void delete(String id) {
    transport.delete(PATH + "/" + Transport.encode(id));
  }

  record Page(List<SnapshotInfo> snapshots) {}
}
