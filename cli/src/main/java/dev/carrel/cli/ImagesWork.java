package dev.carrel.cli;

import dev.carrel.sdk.Carrel;
import dev.carrel.sdk.ImageInfo;
import dev.carrel.sdk.ImageLock;
import dev.carrel.sdk.ImageProgress;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The verbs of {@code carrel images} that take their time. */
final class ImagesWork {
  private ImagesWork() {}

  /** Shows how the work goes on, then what came of it; 1 when it failed. */
  private static int await(Session session, Carrel carrel, String name, boolean json) {
    Console console = session.console();
    var shown = new Shown(console);
    ImageInfo image = carrel.images().follow(name, shown::show);
    ImagesCommand.show(console, json, image);
    if (image.status().equals("failed")) {
      console.error(console.safe(String.valueOf(image.failure())));
      console.hint("carrel images log " + name);
      return 1;
    }
    return 0;
  }

  /** Each step once, on standard error. */
  private static final class Shown {
    private final Console console;
    private String last = "";

    Shown(Console console) {
      this.console = console;
    }

    void show(ImageProgress progress) {
      if (!progress.step().equals(last)) {
        last = progress.step();
        console.note("  " + console.safe(last));
      }
    }
  }

  @Command(
      name = "build",
      description = "Build an image of the catalog on the server's host, from its packages.")
  static final class Build implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "NAME", description = "As 'carrel images list' shows it.")
    private String name = "";

    @Option(
        names = "--locked",
        paramLabel = "FILE",
        description = "Install exactly what 'carrel images lock' wrote there, or fail.")
    private @Nullable Path locked;

    @Option(
        names = "--snapshot",
        paramLabel = "ADDRESS",
        description =
            "A mirror of one time; {archive} in it stands for debian, debian-security and so on.")
    private @Nullable String snapshot;

    @Option(names = "--detach", description = "Do not wait for its end.")
    private boolean detach;

    Build(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() throws IOException {
      ImageLock lock = locked == null ? null : ImageLockFile.read(locked);
      try (Session.Connection server = session.connect(detach)) {
        ImageInfo begun = server.carrel().images().build(name, lock, snapshot);
        if (detach) {
          ImagesCommand.show(session.console(), common.json(), begun);
          return 0;
        }
        return await(session, server.carrel(), begun.name(), common.json());
      }
    }
  }

  @Command(name = "pull", description = "Get an image from a registry, without Docker.")
  static final class Pull implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(
        paramLabel = "REFERENCE",
        description = "Such as alpine:3.20 or ghcr.io/team/tools@sha256:….")
    private String reference = "";

    @Option(
        names = "--platform",
        paramLabel = "OS/ARCH",
        description = "Such as linux/arm64; the server's own unless given.")
    private @Nullable String platform;

    @Option(names = "--detach", description = "Do not wait for its end.")
    private boolean detach;

    Pull(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect(detach)) {
        ImageInfo begun = server.carrel().images().pull(reference, platform);
        if (detach) {
          ImagesCommand.show(session.console(), common.json(), begun);
          return 0;
        }
        return await(session, server.carrel(), begun.name(), common.json());
      }
    }
  }

  @Command(
      name = "commit",
      description = "Make an image of what a sandbox with a writable root has changed.")
  static final class Commit implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(index = "0", paramLabel = "SANDBOX", description = "Running or not.")
    private String sandbox = "";

    @Parameters(index = "1", paramLabel = "NAME", description = "What to call the image.")
    private String name = "";

    @Option(names = "--detach", description = "Do not wait for its end.")
    private boolean detach;

    Commit(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect()) {
        ImageInfo begun = server.carrel().images().commit(sandbox, name);
        if (detach) {
          ImagesCommand.show(session.console(), common.json(), begun);
          return 0;
        }
        return await(session, server.carrel(), begun.name(), common.json());
      }
    }
  }
}
