package dev.carrel.control.packages;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;

/** How the clients are called. Never through a shell: names are arguments and nothing else. */
final class Clients {
  private static final String R_LIBRARY = "/workspace/.local/lib/R";
  private static final String R_INSTALL =
      ("lib <- 'LIB'; dir.create(lib, recursive = TRUE, showWarnings = FALSE); wanted <- commandArgs(TRUE);"
              + " install.packages(wanted, lib = lib);"
              + " quit(status = if (all(wanted %in% rownames(installed.packages(lib)))) 0 else 1)")
          .replace("LIB", R_LIBRARY);
  private static final String R_VERSIONS =
      ("for (p in commandArgs(TRUE)) cat(p, tryCatch(as.character(packageVersion(p, lib.loc ="
              + " c('LIB', .libPaths()))), error = function(e) ''), '\\n')")
          .replace("LIB", R_LIBRARY);
  private static final String PIP_VERSIONS =
      """
      import sys; from importlib import metadata
      for n in sys.argv[1:]:
        try: print(n, metadata.version(n))
        except metadata.PackageNotFoundError: print(n)
      """;
  private static final String NPM_VERSIONS =
      "for (const n of process.argv.slice(1)) { let v = ''; try { v ="
          + " JSON.parse(require('fs').readFileSync('node_modules/' + n +"
          + " '/package.json')).version } catch {} console.log(n, v) }";

  private Clients() {}

  static List<String> install(InstallPackages request, Duration minAge) {
    var command = new ArrayList<String>();
    List<Requirement> wanted = request.requirements();
    switch (request.client()) {
      case PIP -> {
        command.addAll(
            List.of(
                "python3",
                "-m",
                "pip",
                "install",
                "--user",
                "--no-input",
                "--no-cache-dir",
                "--disable-pip-version-check",
                "--no-warn-script-location"));
        if (!request.scripts()) {
          // A wheel is unpacked; a source distribution runs its own build.
          command.add("--only-binary=:all:");
        }
        if (minAge.isPositive()) {
          command.add("--uploaded-prior-to=" + before(minAge));
        }
        command.add("--");
        wanted.forEach(one -> command.add(one.text()));
      }
      case NPM -> {
        command.addAll(
            List.of("npm", "install", "--no-audit", "--no-fund", "--no-update-notifier"));
        if (!request.scripts()) {
          command.add("--ignore-scripts");
        }
        if (minAge.isPositive()) {
          command.add("--before=" + before(minAge));
        }
        command.add("--");
        wanted.forEach(one -> command.add(one.text()));
      }
      case R -> {
        command.addAll(
            List.of("Rscript", "--no-save", "--no-restore", "--no-init-file", "-e", R_INSTALL));
        wanted.forEach(one -> command.add(one.name()));
      }
    }
    return command;
  }

  /** Prints a line for each, the name and its version if it is there. */
  static List<String> versions(InstallPackages request) {
    List<String> program =
        switch (request.client()) {
          case PIP -> List.of("python3", "-c", PIP_VERSIONS);
          case NPM -> List.of("node", "-e", NPM_VERSIONS, "--");
          case R ->
              List.of("Rscript", "--no-save", "--no-restore", "--no-init-file", "-e", R_VERSIONS);
        };
    var command = new ArrayList<>(program);
    request.requirements().forEach(one -> command.add(one.name()));
    return command;
  }

  private static String before(Duration minAge) {
    return Instant.now().minus(minAge).truncatedTo(ChronoUnit.SECONDS).toString();
  }
}
