package dev.carrel.cli;

import dev.carrel.sdk.CarrelException;
import dev.carrel.sdk.ErrorCode;
import dev.carrel.sdk.FileEntry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** A file of a sandbox in an editor of this machine, and back. */
@Command(
    name = "edit",
    description = {
      "Change a file in your own editor: $VISUAL, $EDITOR or vi.",
      "",
      "It is written back when you have changed it, and only if nobody has changed it in the"
          + " sandbox meanwhile. Your text stays here when that fails, and you are told where."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel files edit ID src/app.py",
      "  EDITOR='code --wait' carrel files edit ID notes.md"
    })
final class FilesEdit implements Callable<Integer> {
  private static final String USUAL_EDITOR = "vi";
  private static final long LARGEST = 64L * 1024 * 1024;
  private static final int NOT_FOUND = 127;

  // What every mask has, however short: the named one begins and ends so, others are only these.
  private static final String MASK = "***";
  private static final String NAMED_MASK = "***REDACTED***";

  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
  private String id = "";

  @Parameters(index = "1", paramLabel = "PATH", description = "The file, which must be there.")
  private String path = "";

  FilesEdit(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    try (Session.Connection server = session.connect()) {
      dev.carrel.sdk.Files files = server.carrel().sandboxes().get(id).files();
      // Before it is read, so that no change goes unseen that comes between the two.
      FileEntry seen = files.stat(path);
      requireEditable(seen);
      byte[] before = files.readAll(path);
      requireUnmasked(files, before);
      boolean changed = edit(files, seen, before);
      if (common.json()) {
        session.console().json(Map.of("path", path, "changed", changed));
      } else {
        session.console().note(path + (changed ? " is written" : " is as it was"));
      }
    }
    return 0;
  }

  private void requireEditable(FileEntry entry) {
    if (!entry.type().equals("file")) {
      throw CommandFailure.usage(path + " is no file", "carrel files ls shows what is there");
    }
    if (entry.size() > LARGEST) {
      throw new CommandFailure(
          "%s has %d bytes, which is too much for an editor".formatted(path, entry.size()),
          "change it in the sandbox: carrel exec %s -- sed -i …".formatted(id));
    }
  }

  /**
   * The values of secrets come out as asterisks, which must not be written back in their place. The
   * search looks at what is really in the file: where it sees none, they stand for something, and
   * where it shows a name in place of a secret, for that beside others.
   */
  private void requireUnmasked(dev.carrel.sdk.Files files, byte[] content) {
    List<String> lines = new String(content, StandardCharsets.ISO_8859_1).lines().toList();
    Set<Long> starred =
        LongStream.rangeClosed(1, lines.size())
            .filter(line -> lines.get((int) line - 1).contains(MASK))
            .boxed()
            .collect(Collectors.toSet());
    if (starred.isEmpty()) {
      return;
    }
    Map<String, Object> plain = Map.of("fixed", true, "hidden", true, "limit", starred.size());
    files.grep(path, MASK, plain).matches().stream()
        .filter(match -> !match.cut() && !match.text().contains(NAMED_MASK))
        .forEach(match -> starred.remove(match.line()));
    if (!starred.isEmpty()) {
      throw new CommandFailure(
          path + " seems to hold a secret: it comes out masked, and would be lost",
          "change it in the sandbox: carrel exec -t %s -- vi %s".formatted(id, path));
    }
  }

  /** Whether there was anything to write back. The draft is removed when nothing is lost by it. */
  private boolean edit(dev.carrel.sdk.Files files, FileEntry seen, byte[] before)
      throws IOException, InterruptedException {
    Path folder = Files.createTempDirectory("carrel-edit-", ownersOnly("rwx------"));
    Path draft = folder.resolve(path.substring(path.lastIndexOf('/') + 1));
    boolean needed = false;
    try {
      Files.createFile(draft, ownersOnly("rw-------"));
      Files.write(draft, before);
      int ended = runEditor(draft);
      if (!Files.exists(draft)) {
        throw new CommandFailure("the editor has removed the text; nothing was written", null);
      }
      needed = true;
      boolean changed = !Arrays.equals(before, Files.readAllBytes(draft));
      needed = changed;
      if (ended != 0) {
        throw new CommandFailure(
            "the editor '%s' ended with exit code %d; nothing was written"
                .formatted(editor(), ended),
            ended == NOT_FOUND ? "set VISUAL or EDITOR to one that is here" : null);
      }
      if (changed) {
        write(files, seen, draft);
        needed = false;
      }
      return changed;
    } finally {
      if (needed) {
        session.console().note("your text is kept in " + draft);
      } else {
        // With what the editor has put beside the draft, such as a copy of how it was.
        PackedFolder.remove(folder);
      }
    }
  }

  private static FileAttribute<Set<PosixFilePermission>> ownersOnly(String mode) {
    return PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(mode));
  }

  private String editor() {
    return session.host().editor().orElse(USUAL_EDITOR);
  }

  private int runEditor(Path draft) throws IOException, InterruptedException {
    // Ctrl-C is the editor's while it has the terminal.
    try (Signals.Handling _ = Signals.handle("INT", () -> {})) {
      return new ProcessBuilder("sh", "-c", editor() + " \"$1\"", "sh", draft.toString())
          .inheritIO()
          .start()
          .waitFor();
    }
  }

  private void write(dev.carrel.sdk.Files files, FileEntry seen, Path draft) throws IOException {
    String mode = "0" + seen.mode().substring(seen.mode().length() - 3);
    try (Progress _ = session.console().progress("writing " + path)) {
      files.upload(draft, path, mode, seen.etag());
    } catch (CarrelException e) {
      if (e.code() != ErrorCode.PRECONDITION_FAILED) {
        throw e;
      }
      throw new CommandFailure(
          path + " was changed in the sandbox meanwhile; nothing was written",
          "compare: carrel files get %s %s - | diff - %s".formatted(id, path, draft));
    }
  }
}
