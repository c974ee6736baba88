package dev.carrel.cli;

import dev.carrel.sdk.FileEntry;
import dev.carrel.sdk.Files;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code carrel files glob} and {@code grep}: finding what is in a sandbox. */
final class FilesSearch {
  private FilesSearch() {}

  @Command(
      name = "glob",
      description = "Find files by name, newest first; ** crosses directories.",
      footerHeading = "%nExamples:%n",
      footer = {"  carrel files glob ID '**/*.py'", "  carrel files glob ID '*.csv' data"})
  static final class Glob implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    @Parameters(index = "1", paramLabel = "PATTERN", description = "With *, ?, [a-z], {a,b}, **.")
    private String pattern = "";

    @Parameters(
        index = "2",
        arity = "0..1",
        paramLabel = "PATH",
        defaultValue = "/workspace",
        description = "The directory (default: ${DEFAULT-VALUE}).")
    private String path = "/workspace";

    Glob(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        Files.Found found = server.carrel().sandboxes().get(id).files().glob(path, pattern);
        if (found.truncated()) {
          console.note("there are more: narrow the pattern");
        }
        if (common.json()) {
          console.json(found);
          return 0;
        }
        for (FileEntry entry : found.entries()) {
          console.line(console.safe(entry.path()));
        }
      }
      return 0;
    }
  }

  @Command(
      name = "grep",
      description = {
        "Find lines in a file, or in all files of a directory: those that changed last first.",
        "",
        "The exit code is 1 when nothing was found."
      },
      footerHeading = "%nExamples:%n",
      footer = {
        "  carrel files grep ID 'def \\w+\\(' src --glob '*.py'",
        "  carrel files grep ID -iF todo -C 2"
      })
  static final class Grep implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Option(
        names = {"-i", "--ignore-case"},
        description = "Small and capital letters are the same.")
    private boolean ignoreCase;

    @Option(
        names = {"-F", "--fixed"},
        description = "The pattern is plain text.")
    private boolean fixed;

    @Option(names = "--hidden", description = "Also files whose names start with a dot.")
    private boolean hidden;

    @Option(
        names = {"-C", "--context"},
        paramLabel = "LINES",
        description = "Show lines around each match.")
    private int context;

    @Option(names = "--glob", paramLabel = "PATTERN", description = "Only these files, as '*.py'.")
    private @Nullable String glob;

    @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    @Parameters(
        index = "1",
        paramLabel = "PATTERN",
        description = "A regular expression (POSIX extended).")
    private String pattern = "";

    @Parameters(
        index = "2",
        arity = "0..1",
        paramLabel = "PATH",
        defaultValue = "/workspace",
        description = "A file or a directory (default: ${DEFAULT-VALUE}).")
    private String path = "/workspace";

    Grep(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        Files.Matches found =
            server.carrel().sandboxes().get(id).files().grep(path, pattern, options());
        if (found.truncated()) {
          console.note("there are more: narrow the pattern, the path or --glob");
        }
        if (common.json()) {
          console.json(found);
        } else {
          found.matches().forEach(match -> show(console, match));
        }
        return found.matches().isEmpty() ? 1 : 0;
      }
    }

    private Map<String, Object> options() {
      var options =
          new TreeMap<String, Object>(
              Map.of(
                  "ignore_case", ignoreCase, "fixed", fixed, "hidden", hidden, "context", context));
      if (glob != null) {
        options.put("glob", glob);
      }
      return options;
    }

    private static void show(Console console, Files.Match match) {
      String mark = match.context() ? "-" : ":";
      console.line(
          console.safe(match.path())
              + mark
              + match.line()
              + mark
              + console.safe(match.text())
              + (match.cut() ? "…" : ""));
    }
  }
}
