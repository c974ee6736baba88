package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What sandboxes start on. Everybody may look, administrators may change. */
public final class Images {
  private static final TypeReference<ImageList> LIST = new TypeReference<>() {};
  private static final TypeReference<ImageInfo> ONE = new TypeReference<>() {};
  private static final TypeReference<ImageLock> LOCK = new TypeReference<>() {};
  private static final TypeReference<PrunedImages> PRUNED = new TypeReference<>() {};
  private static final String PATH = "/api/v1/images";

  private final Transport transport;

  Images(Transport transport) {
    this.transport = transport;
  }

  public ImageList list() {
    return transport.get(PATH, LIST);
  }

  public ImageInfo get(String name) {
    return transport.get(path(name), ONE);
  }

  /** Begins to build an image of the catalog; {@link #follow} tells how it goes on. */
  public ImageInfo build(String name) {
    return build(name, null, null);
  }

  /**
   * Begins to build an image of the catalog; {@link #follow} tells how it goes on.
   *
   * @param lock exactly what to install, as {@link #lock} told it; null: the newest
   * @param snapshot address of a mirror of one time; null: where the lock or the server's settings
   *     say
   */
  public ImageInfo build(String name, @Nullable ImageLock lock, @Nullable String snapshot) {
    var request = new HashMap<String, Object>(Map.of("name", name));
    if (lock != null) {
      request.put("lock", lock);
    }
    if (snapshot != null) {
      request.put("snapshot", snapshot);
    }
    return transport.post(PATH + "/build", request, ONE);
  }

  /** Exactly what an image was built of. */
  public ImageLock lock(String name) {
    return transport.get(path(name) + "/lock", LOCK);
  }

  /**
   * Begins to pull an image; {@link #follow} tells how it goes on, under the name of the answer.
   *
   * @param platform null: the server's
   */
  public ImageInfo pull(String reference, @Nullable String platform) {
    Map<String, String> request =
        platform == null
            ? Map.of("reference", reference)
            : Map.of("reference", reference, "platform", platform);
    return transport.post(PATH + "/pull", request, ONE);
  }

  /**
   * Begins to make an image of what a sandbox with {@code rootfs: overlay} changed, on top of the
   * layers that it is on; {@link #follow} tells how it goes on.
   */
  public ImageInfo commit(String sandboxId, String name) {
    return transport.post(PATH + "/commit", Map.of("sandbox_id", sandboxId, "name", name), ONE);
  }

  /** Takes in an OCI layout or what {@code docker save} writes; returns when it can be used. */
  public ImageInfo importArchive(String name, Path archive) throws FileNotFoundException {
    return transport.read(
        transport.send(
            transport
                .request(PATH + "/import" + Transport.query(Map.of("name", name)))
                .header("Content-Type", "application/x-tar")
                .POST(BodyPublishers.ofFile(archive))),
        ONE);
  }

  /** Writes it as a tar that both Docker and OCI tools read. */
  public void export(String name, OutputStream out) throws IOException {
    try (InputStream in = transport.send(transport.request(path(name) + "/export").GET()).body()) {
      in.transferTo(out);
    }
  }

  /** Follows the work on an image to its end. */
  public ImageInfo follow(String name, Consumer<ImageProgress> progress) {
    try (ServerEvents events = transport.events(path(name) + "/progress")) {
      for (Optional<ServerEvents.Event> event = events.next();
          event.isPresent();
          event = events.next()) {
        if (event.get().name().equals("image")) {
          return event.get().as(ImageInfo.class);
        }
        progress.accept(event.get().as(ImageProgress.class));
      }
    }
    return get(name);
  }

  /** What the last work on it said. */
  public String log(String name) {
    try (InputStream in = transport.send(transport.request(path(name) + "/log").GET()).body()) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw CarrelException.unreachable("the log broke off: " + e.getMessage(), e);
    }
  }

  /** Removes one that no sandbox is on. */
  public void delete(String name) {
    transport.delete(path(name));
  }

  /**
   * Removes what failed and what nobody refers to any more.
   *
   * @param unused also images that no sandbox is on
   */
  public PrunedImages prune(boolean unused) {
    return transport.post(PATH + "/prune", Map.of("unused", unused), PRUNED);
  }

  private static String path(String name) {
    return PATH + "/" + Transport.encode(name);
  }
}
