package dev.carrel.cli;

import dev.carrel.sdk.ExportInfo;
import dev.carrel.sdk.ExportResult;
import dev.carrel.sdk.Transfers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "export",
    description = {
      "Let files and folders out of a sandbox, with a link to each.",
      "",
      "Anybody who has a link can fetch by it until it expires; a folder comes as a zip, or as a tar"
          + " with &format=tar. It is no copy: a download gives what is there then."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel export ID report.pdf results      a link to a file, and one to a folder",
      "  carrel export ID report.pdf --seconds 600",
      "  carrel export ID                         what may leave",
      "  carrel export ID --remove xpabcdefghijklmn"
    })
final class ExportCommand implements Callable<Integer> {
  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
  private String id = "";

  @Parameters(
      index = "1..*",
      arity = "0..*",
      paramLabel = "PATH",
      description = "What to let out; nothing: list what may leave.")
  private List<String> paths = List.of();

  @Option(names = "--seconds", paramLabel = "N", description = "How long links are good.")
  private @Nullable Long seconds;

  @Option(names = "--remove", paramLabel = "EXPORT", description = "Take an export back.")
  private @Nullable String remove;

  ExportCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    boolean links = remove == null && !paths.isEmpty();
    try (Session.Connection server = session.connect(links)) {
      Transfers transfers = server.carrel().sandboxes().get(id).transfers();
      if (remove != null) {
        transfers.removeExport(remove);
        if (common.json()) {
          session.console().json(Map.of("removed", remove));
        }
        return 0;
      }
      if (!links) {
        list(transfers.exports());
        return 0;
      }
      ExportResult done =
          transfers.export(paths, seconds == null ? null : Duration.ofSeconds(seconds));
      show(done);
      return done.success() ? 0 : 1;
    }
  }

  private void list(List<ExportInfo> exports) {
    Console console = session.console();
    if (common.json()) {
      console.json(Map.of("items", exports));
    } else if (exports.isEmpty()) {
      console.note("nothing may leave; name what may");
    } else {
      console.table(
          List.of("EXPORT", "PATH", "SINCE"),
          exports.stream()
              .map(
                  one -> List.of(one.id(), console.safe(one.path()), Wording.time(one.createdAt())))
              .toList());
    }
  }

  private void show(ExportResult done) {
    Console console = session.console();
    if (common.json()) {
      console.json(done);
      return;
    }
    for (ExportResult.Exported one : done.files()) {
      if (one.success()) {
        console.line(String.valueOf(one.downloadUrl()));
      } else {
        console.error(
            Wording.about(console.safe(one.path()), console.safe(String.valueOf(one.error()))));
      }
    }
  }
}
