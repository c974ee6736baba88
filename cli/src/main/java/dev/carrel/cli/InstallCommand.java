package dev.carrel.cli;

import dev.carrel.sdk.Installation;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "install",
    description = {
      "Install packages in a sandbox, by its own pip, npm or R.",
      "",
      "They come through the sandbox's policy, which the preset 'packages' opens for what the"
          + " clients use."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel install ID pip six==1.17.0 attrs",
      "  carrel install ID npm is-odd@3.0.1",
      "  carrel install ID r jsonlite"
    })
final class InstallCommand implements Callable<Integer> {
  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
  private String id = "";

  @Parameters(index = "1", paramLabel = "MANAGER", description = "pip, npm or r.")
  private String manager = "";

  @Parameters(index = "2..*", arity = "1..*", paramLabel = "PACKAGE", description = "What.")
  private List<String> packages = List.of();

  @Option(
      names = "--scripts",
      description = "Let packages run code of their own while they are installed.")
  private boolean scripts;

  InstallCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    Console console = session.console();
    try (Session.Connection server = session.connect()) {
      Installation done;
      try (Progress _ = console.progress("installing")) {
        done = server.carrel().sandboxes().get(id).install(manager, packages, scripts);
      }
      if (common.json()) {
        console.json(done);
      } else if (done.success()) {
        console.table(
            List.of("PACKAGE", "VERSION"),
            done.packages().stream()
                .map(one -> List.of(one.name(), one.version() == null ? "-" : one.version()))
                .toList());
        if (done.filesCached() + done.filesFetched() > 0) {
          console.note(
              "files: %d from the server's cache, %d fetched"
                  .formatted(done.filesCached(), done.filesFetched()));
        }
      } else {
        done.stderr().lines().forEach(line -> console.note(console.safe(line)));
        console.error(manager + " ended with " + done.exitCode());
      }
      return done.success() ? 0 : 1;
    }
  }
}
