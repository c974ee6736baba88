package dev.carrel.cli;

import dev.carrel.sdk.Carrel;
import dev.carrel.sdk.CarrelException;
import dev.carrel.sdk.ErrorCode;
import dev.carrel.sdk.ImageInfo;
import dev.carrel.sdk.ImageList;
import dev.carrel.sdk.ImageLock;
import dev.carrel.sdk.PrunedImages;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code carrel images …}: one class for each verb. */
@Command(
    name = "images",
    description = "What sandboxes start on: see, get, give and remove images.",
    synopsisSubcommandLabel = "COMMAND",
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel images list",
      "  carrel images pull debian:12",
      "  carrel images build python",
      "  carrel sandbox create --image python",
      "  carrel images commit ID mine          a sandbox as it is now"
    })
final class ImagesCommand extends CommandGroup {

  /** Prints an image that was made. */
  static void show(Console console, boolean json, ImageInfo image) {
    if (json) {
      console.json(image);
    } else {
      console.line(
          "%s  %s  %s".formatted(image.name(), image.status(), megabytes(image.sizeBytes())));
    }
  }

  static String megabytes(long bytes) {
    return ((bytes + (1 << 20) - 1) >> 20) + " MB";
  }

  @Command(name = "list", aliases = "ls", description = "List images and what they take on disk.")
  static final class ListAll implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    ListAll(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        ImageList found = server.carrel().images().list();
        if (common.json()) {
          console.json(found);
        } else {
          console.table(
              List.of("NAME", "SOURCE", "STATUS", "SIZE", "LANGUAGES", "ENGINES", "DIGEST"),
              found.images().stream().map(ListAll::row).toList());
          console.note("on disk: " + megabytes(found.diskBytes()));
        }
      }
      return 0;
    }

    private static List<String> row(ImageInfo image) {
      String digest = Objects.requireNonNullElse(image.digest(), "");
      return List.of(
          image.name(),
          image.source(),
          image.status(),
          image.digest() == null ? "" : megabytes(image.sizeBytes()),
          String.join(",", image.languages()),
          String.join(",", image.engines()),
          digest.substring(0, Math.min(digest.length(), "sha256:".length() + 12)));
    }
  }

  @Command(
      name = "show",
      aliases = "inspect",
      description = "Show one image, and the packages that it was built of.")
  static final class Show implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "NAME", description = "Which image.")
    private String name = "";

    Show(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        ImageInfo image = server.carrel().images().get(name);
        ImageLock lock = lock(server.carrel(), image);
        if (common.json()) {
          var json = new LinkedHashMap<String, Object>();
          json.put("image", image);
          json.put("lock", lock);
          console.json(json);
        } else {
          show(console, false, image);
          console.line("digest: " + Objects.requireNonNullElse(image.digest(), "none"));
          console.line("languages: " + String.join(", ", image.languages()));
          console.line("engines: " + String.join(", ", image.engines()));
          if (lock != null) {
            console.line(
                "packages: %d of %s for %s, nothing newer than %s"
                    .formatted(
                        lock.packages().size(),
                        lock.release(),
                        lock.architecture(),
                        Instant.ofEpochSecond(lock.sourceDateEpoch())));
            lock.packages().forEach(one -> console.line("  " + console.safe(one)));
          }
        }
      }
      return 0;
    }

    /** Null when it was not built from packages, or by a server that kept no locks. */
    private static @Nullable ImageLock lock(Carrel carrel, ImageInfo image) {
      if (!image.source().equals("catalog") || image.digest() == null) {
        return null;
      }
      try {
        return carrel.images().lock(image.name());
      } catch (CarrelException e) {
        if (e.code() == ErrorCode.WRONG_STATE) {
          return null;
        }
        throw e;
      }
    }
  }

  @Command(
      name = "lock",
      description = "Write what exactly an image was built of, for 'build --locked'.")
  static final class Lock implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(index = "0", paramLabel = "NAME", description = "Which image.")
    private String name = "";

    @Parameters(
        index = "1",
        arity = "0..1",
        paramLabel = "FILE",
        description = "Where to; made or replaced. Standard output unless given.")
    private @Nullable Path file;

    Lock(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() throws IOException {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        ImageLock lock = server.carrel().images().lock(name);
        if (file == null) {
          console.out().print(ImageLockFile.text(lock));
          Console.requireRead(console.out());
          return 0;
        }
        Files.writeString(file, ImageLockFile.text(lock));
        if (common.json()) {
          console.json(
              Map.of("name", name, "file", file.toString(), "packages", lock.packages().size()));
        } else {
          console.line(file + "  " + lock.packages().size() + " packages");
        }
      }
      return 0;
    }
  }

  @Command(
      name = "import",
      description = "Take in an image from a file: an OCI layout, or what docker save writes.")
  static final class Import implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(index = "0", paramLabel = "FILE", description = "The tar, compressed or not.")
    private Path file = Path.of("");

    @Parameters(index = "1", paramLabel = "NAME", description = "What to call it.")
    private String name = "";

    Import(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() throws IOException {
      Console console = session.console();
      try (Session.Connection server = session.connect();
          Progress _ = console.progress("importing " + name)) {
        show(console, common.json(), server.carrel().images().importArchive(name, file));
      }
      return 0;
    }
  }

  @Command(
      name = "export",
      description = "Write an image to a file that both Docker and OCI tools read.")
  static final class Export implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(index = "0", paramLabel = "NAME", description = "Which image.")
    private String name = "";

    @Parameters(index = "1", paramLabel = "FILE", description = "Where to; made or replaced.")
    private Path file = Path.of("");

    Export(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() throws IOException {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        try (Progress _ = console.progress("exporting " + name);
            OutputStream out = Files.newOutputStream(file)) {
          server.carrel().images().export(name, out);
        }
        if (common.json()) {
          console.json(
              Map.of("name", name, "file", file.toString(), "size_bytes", Files.size(file)));
        } else {
          console.line(file + "  " + megabytes(Files.size(file)));
        }
      }
      return 0;
    }
  }

  @Command(name = "log", description = "What the last build, pull or import of an image said.")
  static final class Log implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "NAME", description = "Which image.")
    private String name = "";

    Log(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        String log = server.carrel().images().log(name);
        if (common.json()) {
          console.json(Map.of("name", name, "log", log));
        } else {
          log.lines().forEach(line -> console.line(console.safe(line)));
        }
      }
      return 0;
    }
  }

  @Command(name = "rm", aliases = "delete", description = "Remove images that no sandbox is on.")
  static final class Remove implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(arity = "1..*", paramLabel = "NAME", description = "The images.")
    private List<String> names = List.of();

    Remove(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect()) {
        return new Deletion(session.console())
            .each(names, server.carrel().images()::delete)
            .told(common.json());
      }
    }
  }

  @Command(
      name = "prune",
      description = "Remove what failed, and files that no image has any more.")
  static final class Prune implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Option(names = "--unused", description = "Also images that no sandbox is on.")
    private boolean unused;

    Prune(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        PrunedImages pruned = server.carrel().images().prune(unused);
        if (common.json()) {
          console.json(pruned);
        } else {
          pruned.removed().forEach(console::line);
          console.note("freed: " + megabytes(pruned.freedBytes()));
        }
      }
      return 0;
    }
  }
}
