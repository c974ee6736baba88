package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.Control;
import dev.carrel.control.egress.Egress;
import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.FileEntry;
import dev.carrel.control.files.FileEvents;
import dev.carrel.control.files.FileListing;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.egress.Rule;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Catalog;
import dev.carrel.server.mcp.Content;
import dev.carrel.server.mcp.ResourceSource;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Sandboxes as things to read: how they stand, what they may reach, their files. */
final class SandboxResources implements ResourceSource {
  private static final String ROOT = "carrel://sandboxes/";
  private static final String STATE = "/state";
  private static final String POLICY = "/policy";
  private static final String FILES = "/files/";
  private static final long MAX_FILE = 4L << 20;
  private static final int MAX_ENTRIES = 1000;
  // As a list of addresses has remarks.
  private static final String MORE = "\n# there are more";
  private static final Duration WATCH_PATIENCE = Duration.ofMinutes(1);

  private final Control control;
  private final Sessions sessions;

  SandboxResources(Control control, Sessions sessions) {
    this.control = control;
    this.sessions = sessions;
  }

  /** What the addresses of all that is in a sandbox begin with. */
  static String uri(SandboxId id) {
    return ROOT + id + "/";
  }

  /** Where a file can be read. */
  static String uri(SandboxId id, String path) {
    String relative = path.startsWith("/") ? path.substring(1) : path;
    return ROOT + id + FILES + ResourcePath.encoded(relative);
  }

  @Override
  public List<About> list(Call call) {
    var all = new ArrayList<About>();
    for (Sandbox sandbox : sessions.active(call.caller())) {
      String id = sandbox.id().value();
      all.add(
          new About(
              ROOT + id + STATE,
              id + " state",
              "How sandbox " + id + " stands: interpreters, commands, limits, use",
              "application/json"));
      all.add(
          new About(
              ROOT + id + POLICY,
              id + " policy",
              "What sandbox " + id + " may reach",
              "application/json"));
    }
    return all;
  }

  @Override
  public List<Template> templates() {
    return List.of(
        new Template(ROOT + "{id}/state", "state", "How a sandbox stands", "application/json"),
        new Template(
            ROOT + "{id}/policy", "policy", "What a sandbox may reach", "application/json"),
        new Template(ROOT + "{id}/files/{+path}", "files", "A file or folder of a sandbox", null));
  }

  @Override
  public Optional<List<ObjectNode>> read(Call call, String uri) throws IOException {
    if (!uri.startsWith(ROOT)) {
      return Optional.empty();
    }
    String rest = uri.substring(ROOT.length());
    int slash = rest.indexOf('/');
    if (slash < 0) {
      return Optional.empty();
    }
    String what = rest.substring(slash);
    try {
      var id = new SandboxId(rest.substring(0, slash));
      return switch (what) {
        case STATE -> json(uri, new SessionReport(control, call.caller()).node(id));
        case POLICY -> json(uri, policy(call, id));
        default ->
            what.startsWith(FILES)
                ? Optional.of(List.of(file(call, id, uri, what.substring(FILES.length()))))
                : Optional.empty();
      };
    } catch (SandboxException e) {
      if (e.code().kind() == ErrorCode.Kind.ABSENT) {
        return Optional.empty();
      }
      throw e;
    }
  }

  /** Files and folders are watched where they are; all else is told by events. */
  @Override
  public Optional<Catalog.Listening> watch(Call call, String uri, Runnable changed) {
    int files = uri.indexOf(FILES);
    if (!uri.startsWith(ROOT) || files < 0) {
      return Optional.empty();
    }
    var id = new SandboxId(uri.substring(ROOT.length(), files));
    String path = path(uri.substring(files + FILES.length()));
    FileEntry entry = control.files().stat(call.caller(), id, path);
    boolean folder = entry.type() == FileEntry.Type.DIR;
    String place = folder ? path : path.substring(0, Math.max(1, path.lastIndexOf('/')));
    FileEvents events = control.files().watch(call.caller(), id, place, false);
    Thread watcher =
        Thread.ofVirtual()
            .name(id + "-mcp-watch")
            .start(() -> follow(events, folder ? null : entry.path(), changed));
    return Optional.of(
        () -> {
          watcher.interrupt();
          events.close();
        });
  }

  /**
   * @param file null: whatever is in the folder
   */
  private static void follow(FileEvents events, @Nullable String file, Runnable changed) {
    try {
      while (true) {
        FileEvents.FileEvent event = events.next(WATCH_PATIENCE);
        boolean meant =
            event != null
                && (file == null
                    || event.kind() == FileEvents.FileEvent.Kind.OVERFLOW
                    || event.path().equals(file));
        if (meant) {
          changed.run();
        }
      }
    } catch (SandboxException e) {
      // The sandbox ended, and with it what could change.
      changed.run();
    } catch (InterruptedException e) {
      // Nobody wants to know any more.
      Thread.currentThread().interrupt();
    }
  }

  private static String path(String raw) {
    return "/" + ResourcePath.decoded(raw);
  }

  private static Optional<List<ObjectNode>> json(String uri, ObjectNode node) {
    return Optional.of(List.of(Content.textOf(uri, "application/json", node.toPrettyString())));
  }

  private ObjectNode policy(Call call, SandboxId id) {
    Egress.State state = control.egress().show(call.caller(), id);
    ObjectNode node = Schemas.object().put("mode", state.policy().mode().wireName());
    var allow = node.putArray("allow");
    state.policy().allow().stream().map(Rule::toString).forEach(allow::add);
    var presets = node.putArray("presets");
    state.policy().presets().stream().sorted().forEach(presets::add);
    var deny = node.putArray("deny");
    state.policy().deny().forEach(pattern -> deny.add(pattern.toString()));
    var granted = node.putArray("granted");
    state.granted().stream().map(Rule::toString).forEach(granted::add);
    return node;
  }

  private ObjectNode file(Call call, SandboxId id, String uri, String raw) throws IOException {
    String path = path(raw);
    FileEntry entry = control.files().stat(call.caller(), id, path);
    if (entry.type() == FileEntry.Type.DIR) {
      FileListing listing = control.files().list(call.caller(), id, path, 1, MAX_ENTRIES);
      String names =
          listing.entries().stream()
              .map(one -> uri(id, one.path()))
              .collect(Collectors.joining("\n"));
      return Content.textOf(uri, "text/uri-list", listing.truncated() ? names + MORE : names);
    }
    if (entry.size() > MAX_FILE) {
      throw new SandboxException(
          ErrorCode.TOO_LARGE,
          "%s has %d bytes; at most %d are read at once".formatted(path, entry.size(), MAX_FILE));
    }
    try (FileDownload file = control.files().read(call.caller(), id, path, null)) {
      var bytes = new ByteArrayOutputStream((int) entry.size());
      file.transferTo(bytes);
      return contents(uri, bytes.toByteArray());
    }
  }

  private static ObjectNode contents(String uri, byte[] bytes) {
    try {
      String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      return Content.textOf(uri, "text/plain", text);
    } catch (CharacterCodingException binary) {
      return Content.blobOf(
          uri, "application/octet-stream", Base64.getEncoder().encodeToString(bytes));
    }
  }

  @Override
  public List<String> complete(Call call, String template, String argument, String typed) {
    if (!template.startsWith(ROOT) || !argument.equals("id")) {
      return List.of();
    }
    return sessions.active(call.caller()).stream()
        .map(sandbox -> sandbox.id().value())
        .filter(id -> id.startsWith(typed))
        .toList();
  }
}
