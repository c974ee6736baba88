package dev.carrel.cli;

import dev.carrel.sdk.ImportResult;
import dev.carrel.sdk.Transfers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "import",
    description = {
      "Bring files into a sandbox: from here, from an address, from another sandbox that exported"
          + " them, or from a folder of the server's host.",
      "",
      "An address is fetched under the sandbox's own policy. host:PATH must be in a folder that the"
          + " operator listed in import.host-folders."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel import ID data.csv src               files and folders of this machine",
      "  carrel import ID project.zip --unpack --to project",
      "  carrel import ID https://example.com/a.csv",
      "  carrel import ID sbabcdefghijklmn:results   what that sandbox exported",
      "  carrel import ID host:/srv/data/set1"
    })
final class ImportCommand implements Callable<Integer> {
  private static final Pattern EXPORTED = Pattern.compile("(sb[a-z2-7]{14}):(.+)");
  private static final String HOST = "host:";

  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
  private String id = "";

  @Parameters(
      index = "1..*",
      arity = "1..*",
      paramLabel = "SOURCE",
      description = "A file, a folder, an address, SANDBOX:PATH or host:PATH.")
  private List<String> sources = List.of();

  @Option(
      names = "--to",
      paramLabel = "PATH",
      description = "Where to (default: /workspace, under the same name).")
  private @Nullable String to;

  @Option(names = "--unpack", description = "They are zips or tars whose files are wanted.")
  private boolean unpack;

  ImportCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws IOException {
    var done = new ArrayList<ImportResult.Imported>();
    try (Session.Connection server = session.connect();
        Progress _ = session.console().progress("importing")) {
      Transfers transfers = server.carrel().sandboxes().get(id).transfers();
      for (String source : sources) {
        bring(transfers, source, done);
      }
    }
    boolean success = done.stream().allMatch(ImportResult.Imported::success);
    show(done, success);
    return success ? 0 : 1;
  }

  private void bring(Transfers transfers, String source, List<ImportResult.Imported> done)
      throws IOException {
    Matcher exported = EXPORTED.matcher(source);
    if (exported.matches()) {
      done.addAll(
          remote(transfers, Map.of("sandbox_id", exported.group(1), "path", exported.group(2))));
    } else if (source.matches("(?i)https?://.*")) {
      done.addAll(remote(transfers, Map.of("url", source)));
    } else if (source.startsWith(HOST)) {
      done.addAll(remote(transfers, Map.of("source", source.substring(HOST.length()))));
    } else {
      local(transfers, Path.of(source), done);
    }
  }

  private List<ImportResult.Imported> remote(Transfers transfers, Map<String, Object> source) {
    var file = new HashMap<>(source);
    file.put("unpack", unpack);
    if (to != null) {
      file.put("destination", sources.size() > 1 && !to.endsWith("/") && !unpack ? to + "/" : to);
    }
    return transfers.importFiles(List.of(file)).files();
  }

  private void local(Transfers transfers, Path source, List<ImportResult.Imported> done)
      throws IOException {
    String name = String.valueOf(source.toAbsolutePath().normalize().getFileName());
    if (unpack) {
      done.addAll(transfers.upload(source, to == null ? "." : to, true).files());
      return;
    }
    boolean folder = to != null && (to.endsWith("/") || sources.size() > 1);
    String target = to == null ? name : folder ? to + "/" + name : to;
    if (!Files.isDirectory(source)) {
      done.addAll(transfers.upload(source, target, false).files());
      return;
    }
    try (Stream<Path> walk = Files.walk(source)) {
      for (Path file : walk.filter(Files::isRegularFile).sorted().toList()) {
        done.addAll(transfers.upload(file, target + "/" + source.relativize(file), false).files());
      }
    }
  }

  private void show(List<ImportResult.Imported> done, boolean success) {
    Console console = session.console();
    if (common.json()) {
      console.json(Map.of("success", success, "files", done));
      return;
    }
    for (ImportResult.Imported one : done) {
      if (one.success()) {
        console.line(console.safe(one.destination()));
      } else {
        console.error(
            console.safe(one.source()) + ": " + console.safe(String.valueOf(one.error())));
      }
      if (one.skipped() > 0) {
        console.note(one.skipped() + " links and the like were left out");
      }
    }
  }
}
