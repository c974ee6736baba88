package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.Control;
import dev.carrel.control.artifact.Artifact;
import dev.carrel.control.artifact.Signed;
import dev.carrel.control.files.FileDownload;
import dev.carrel.server.mcp.Call;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Base64;
import java.util.List;

/** What a run of code left in the folder of outputs, signed and told with its result. */
final class LeftFiles {
  private static final int MAX_CONTENT = 4 * 1024 * 1024;

  private final Control control;

  LeftFiles(Control control) {
    this.control = control;
  }

  /**
   * @param kept whether they can be read later; else what fits of them goes with the answer
   */
  ArrayNode tell(Call call, SandboxId id, ExecId request, boolean kept) {
    ArrayNode told = Schemas.object().arrayNode();
    long room = kept ? 0 : MAX_CONTENT;
    Signed signed = signed(call, id, request);
    for (Artifact one : signed.artifacts()) {
      ObjectNode node = view(one);
      if (!kept) {
        node.remove("uri");
        if (one.size() <= room) {
          room -= one.size();
          content(call, one, node);
        } else {
          node.put("reason", "too large to be sent with the answer; keep it in a session");
        }
      }
      told.add(node);
    }
    for (Signed.Skipped one : signed.skipped()) {
      told.addObject().put("name", one.path()).put("reason", one.reason());
    }
    if (signed.truncated()) {
      told.addObject().put("name", "outputs").put("reason", "there is more than is signed at once");
    }
    return told;
  }

  /** What the code did is told, whatever becomes of its files. */
  private Signed signed(Call call, SandboxId id, ExecId request) {
    try {
      return control.artifacts().left(call.caller(), id, request);
    } catch (SandboxException e) {
      return new Signed(List.of(), List.of(new Signed.Skipped("outputs", e.message())), false);
    }
  }

  private void content(Call call, Artifact one, ObjectNode node) {
    var bytes = new ByteArrayOutputStream();
    String path = "/workspace/" + one.path();
    try (FileDownload download = control.files().read(call.caller(), one.sandbox(), path, null)) {
      if (download.length() > MAX_CONTENT) {
        throw SandboxException.invalid("path", "it grew while it was read");
      }
      download.transferTo(bytes);
      node.put("content", Base64.getEncoder().encodeToString(bytes.toByteArray()));
    } catch (SandboxException e) {
      node.put("reason", e.message());
    } catch (IOException e) {
      throw new UncheckedIOException("nothing was written", e);
    }
  }

  /** As every tool tells of one. */
  static ObjectNode view(Artifact one) {
    return Schemas.object()
        .put("name", one.path())
        .put("sha256", one.sha256())
        .put("size", one.size())
        .put("mime", one.mime())
        .put("signature", one.signature())
        .put("uri", SandboxResources.uri(one.sandbox(), "workspace/" + one.path()));
  }
}
