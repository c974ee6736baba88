package dev.carrel.cli;

import dev.carrel.sdk.CarrelException;
import dev.carrel.sdk.FileEntry;
import dev.carrel.sdk.FileListing;
import dev.carrel.sdk.Sandbox;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code carrel files …}: one class for each verb. */
@Command(
    name = "files",
    description = {
      "Look at, find, fetch, put, edit and remove a sandbox's files.",
      "",
      "Paths are resolved inside the sandbox; a relative one starts at /workspace."
    },
    synopsisSubcommandLabel = "COMMAND",
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel files put ID data.csv",
      "  carrel files ls ID",
      "  carrel files grep ID error src",
      "  carrel files get ID results/plot.png",
      "  carrel files get ID log.txt - | tail",
      "  carrel files edit ID src/app.py",
      "  carrel files rm -r ID results"
    })
final class FilesCommand extends CommandGroup {

  @Command(name = "ls", description = "List a directory.")
  static final class Ls implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    @Parameters(
        index = "1",
        arity = "0..1",
        paramLabel = "PATH",
        defaultValue = "/workspace",
        description = "The directory (default: ${DEFAULT-VALUE}).")
    private String path = "/workspace";

    Ls(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        FileListing entries = server.carrel().sandboxes().get(id).files().list(path);
        if (entries.truncated()) {
          console.note(
              "there are more entries than these %d: list a directory further down"
                  .formatted(entries.size()));
        }
        if (common.json()) {
          console.json(entries);
          return 0;
        }
        var rows = new ArrayList<List<String>>();
        for (FileEntry entry : entries) {
          rows.add(
              List.of(
                  entry.mode(),
                  Long.toString(entry.size()),
                  Wording.time(entry.modifiedAt()),
                  name(console, entry)));
        }
        console.table(List.of(), rows);
      }
      return 0;
    }

    private static String name(Console console, FileEntry entry) {
      String name = console.safe(entry.name());
      return switch (entry.type()) {
        case "dir" -> console.styled(Console.Style.STRONG, name) + "/";
        case "link" -> name + " -> " + console.safe(String.valueOf(entry.target()));
        default -> name;
      };
    }
  }

  @Command(
      name = "get",
      description = "Fetch a file; a directory comes as a zip.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  carrel files get ID plot.png",
        "  carrel files get ID results results.zip",
        "  carrel files get ID data.csv - | head"
      })
  static final class Get implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    @Parameters(index = "1", paramLabel = "PATH", description = "What to fetch.")
    private String path = "";

    @Parameters(
        index = "2",
        arity = "0..1",
        paramLabel = "TARGET",
        description = "A file, a directory, or - for standard output (default: here).")
    private @Nullable String target;

    Get(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() throws IOException {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        Sandbox sandbox = server.carrel().sandboxes().get(id);
        if ("-".equals(target)) {
          try (InputStream in = sandbox.files().read(path)) {
            in.transferTo(console.bytes());
          }
          return 0;
        }
        Path local = localTarget(sandbox.files().stat(path));
        long size = fetch(sandbox, local);
        if (common.json()) {
          console.json(Map.of("path", path, "target", local.toString(), "size", size));
        } else {
          console.note("%s (%d bytes)".formatted(local, size));
        }
      }
      return 0;
    }

    private Path localTarget(FileEntry entry) {
      Path given = Path.of(target == null ? "." : target);
      if (!Files.isDirectory(given)) {
        return given;
      }
      String name = String.valueOf(Path.of(entry.path()).getFileName());
      return given.resolve(entry.type().equals("dir") ? name + ".zip" : name).normalize();
    }

    private long fetch(Sandbox sandbox, Path local) throws IOException {
      // A link stays one: what it leads to is written.
      Path place = Files.isSymbolicLink(local) ? local.toRealPath() : local;
      try (Progress _ = session.console().progress("fetching " + path);
          InputStream in = sandbox.files().read(path)) {
        return Files.exists(place) && !Files.isRegularFile(place)
            ? pour(in, place)
            : replace(in, place);
      }
    }

    /** Into a device or a pipe, which must not be replaced by a file. */
    private static long pour(InputStream in, Path place) throws IOException {
      try (OutputStream out = Files.newOutputStream(place, StandardOpenOption.WRITE)) {
        return in.transferTo(out);
      }
    }

    /** Beside the target first, so that a broken transfer leaves the old file. */
    private static long replace(InputStream in, Path place) throws IOException {
      Path draft = place.resolveSibling(".carrel-" + UUID.randomUUID() + ".part");
      try {
        long size = Files.copy(in, draft);
        if (Files.exists(place)) {
          Files.setPosixFilePermissions(draft, Files.getPosixFilePermissions(place));
        }
        Files.move(draft, place, StandardCopyOption.REPLACE_EXISTING);
        return size;
      } finally {
        Files.deleteIfExists(draft);
      }
    }
  }

  @Command(
      name = "put",
      description = "Copy files or directories into a sandbox.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  carrel files put ID data.csv",
        "  carrel files put ID src --to project/src",
        "  curl … | carrel files put ID - --to page.html"
      })
  static final class Put implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Option(
        names = "--to",
        paramLabel = "PATH",
        description = "Where to (default: /workspace, under the same name).")
    private @Nullable String to;

    @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    @Parameters(
        index = "1..*",
        arity = "1..*",
        paramLabel = "FILE",
        description = "Files, directories, or - for standard input.")
    private List<String> sources = List.of();

    private final List<String> written = new ArrayList<>();
    private final List<String> leftOut = new ArrayList<>();

    Put(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() throws IOException {
      if (sources.contains("-") && to == null) {
        throw CommandFailure.usage("standard input has no name", "say --to PATH");
      }
      sources.forEach(this::requireThere);
      try {
        putAll();
      } catch (CarrelException | IOException e) {
        // What is there already is there.
        show();
        throw e;
      }
      show();
      return 0;
    }

    private void requireThere(String source) {
      if (!source.equals("-") && !Files.exists(Path.of(source))) {
        throw new CommandFailure(
            "no such file: " + source,
            to == null && sources.size() > 1 ? "for another name in the sandbox say --to" : null);
      }
    }

    private void putAll() throws IOException {
      try (Session.Connection server = session.connect();
          Progress _ = session.console().progress("uploading")) {
        Sandbox sandbox = server.carrel().sandboxes().get(id);
        for (String source : sources) {
          put(sandbox, source);
        }
      }
    }

    private void show() {
      Console console = session.console();
      if (common.json()) {
        console.json(Map.of("written", written, "left_out", leftOut));
        return;
      }
      written.forEach(console::line);
      leftOut.forEach(path -> console.note("left out: " + console.safe(path)));
    }

    private void put(Sandbox sandbox, String source) throws IOException {
      if (source.equals("-")) {
        sandbox.files().upload(session.in(), String.valueOf(to));
        written.add(String.valueOf(to));
        return;
      }
      Path local = Path.of(source);
      String name = remoteName(local);
      if (Files.isDirectory(local)) {
        putFolder(sandbox, local, name);
      } else if (Files.isRegularFile(local)) {
        upload(sandbox, local, name);
      } else {
        // Such as <(a command).
        try (InputStream pipe = Files.newInputStream(local)) {
          sandbox.files().upload(pipe, name);
        }
        written.add(name);
      }
    }

    private void putFolder(Sandbox sandbox, Path named, String name) throws IOException {
      Path folder = Files.isSymbolicLink(named) ? named.toRealPath() : named;
      try (Stream<Path> walk = Files.walk(folder)) {
        for (Path path : walk.toList()) {
          String target = path.equals(folder) ? name : name + "/" + folder.relativize(path);
          if (Files.isRegularFile(path)) {
            upload(sandbox, path, target);
          } else if (!Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
            leftOut.add(path.toString());
          } else if (isEmpty(path) && sandbox.files().find(target).isEmpty()) {
            sandbox.files().makeDirectory(target);
            written.add(target);
          }
        }
      }
    }

    private static boolean isEmpty(Path folder) throws IOException {
      try (Stream<Path> entries = Files.list(folder)) {
        return entries.findAny().isEmpty();
      }
    }

    private String remoteName(Path local) {
      String name = String.valueOf(local.toAbsolutePath().normalize().getFileName());
      if (to == null) {
        return name;
      }
      return sources.size() > 1 || to.endsWith("/") ? to.replaceAll("/+$", "") + "/" + name : to;
    }

    private void upload(Sandbox sandbox, Path file, String path) throws IOException {
      sandbox.files().upload(file, path, Files.isExecutable(file) ? "0755" : "0644");
      written.add(path);
    }
  }

  @Command(name = "rm", description = "Remove files or directories.")
  static final class Rm implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Option(
        names = {"-r", "--recursive"},
        description = "Also directories that are not empty.")
    private boolean recursive;

    @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    @Parameters(
        index = "1..*",
        arity = "1..*",
        paramLabel = "PATH",
        description = "What to remove.")
    private List<String> paths = List.of();

    Rm(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect()) {
        Sandbox sandbox = server.carrel().sandboxes().get(id);
        for (String path : paths) {
          sandbox.files().delete(path, recursive);
        }
      }
      if (common.json()) {
        session.console().json(Map.of("removed", paths));
      }
      return 0;
    }
  }
}
