package dev.carrel.image;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** How mmdebstrap is called, so that the same packages and the same time give the same tar. */
final class MmdebstrapCommand {
  /** Begins each line that names a version which the sources do not have. */
  static final String MISSING = "carrel-missing: ";

  private static final List<Path> PROGRAMS =
      List.of(Path.of("/usr/bin/mmdebstrap"), Path.of("/usr/local/bin/mmdebstrap"));

  /** Asks the sources for every version of the lock before anything is installed. */
  private static final String LOOK_FOR_MISSING =
      """
      set -e
      export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" LC_ALL=C
      wanted="$1/tmp/carrel.wanted" have="$1/tmp/carrel.have" missing="$1/tmp/carrel.missing"
      apt-get --error-on=any -qq update >&2
      cut -d " " -f 1 "$wanted" | xargs apt-cache madison | tr -d " " \
        | cut -d "|" -f 1,2 --output-delimiter=" " | sort -u > "$have"
      sort -u "$wanted" | comm -23 - "$have" > "$missing"
      sed "s/^/carrel-missing: /" "$missing" >&2
      test ! -s "$missing"
      rm "$wanted" "$have" "$missing"
      """;

  /**
   * Python that is told the time compiles files that have to be read together with their sources
   * each time they are imported. These say when their sources were changed, as they do otherwise.
   */
  private static final String PYTHON_CACHES =
      """
      import importlib.util, os, struct, sys
      for folder, _, names in os.walk("/usr/lib"):
          for path in [os.path.join(folder, n) for n in names if n.endswith(".pyc")]:
              try:
                  source = os.stat(importlib.util.source_from_cache(path))
              except (OSError, ValueError):
                  continue
              with open(path, "r+b") as cache:
                  if cache.read(8)[4:] == b"\\3\\0\\0\\0":
                      cache.seek(4)
                      time = min(int(source.st_mtime), int(sys.argv[1]))
                      cache.write(struct.pack("<III", 0, time, source.st_size))
      """;

  private final List<String> words = new ArrayList<>();

  private MmdebstrapCommand() {}

  static List<String> newest(Recipe recipe, AptSources sources) {
    return new MmdebstrapCommand().words(recipe, sources);
  }

  /**
   * @param folder for files that mmdebstrap reads
   */
  static List<String> locked(Recipe recipe, AptSources sources, ImageLock lock, Path folder)
      throws IOException {
    var command = new MmdebstrapCommand();
    Path wanted =
        Files.writeString(
            folder.resolve("wanted"),
            lock.packages().stream()
                .map(one -> one.name() + " " + one.version() + "\n")
                .collect(Collectors.joining()));
    Path preferences = Files.writeString(folder.resolve("preferences"), lock.preferences());
    command.hook("setup", "upload " + quoted(wanted) + " /tmp/carrel.wanted");
    command.hook("setup", "upload " + quoted(preferences) + " /etc/apt/preferences.d/carrel");
    command.hook("setup", LOOK_FOR_MISSING);
    // Done above.
    command.words.add("--skip=update");
    command.hook("customize", "rm \"$1/etc/apt/preferences.d/carrel\"");
    return command.words(recipe, sources);
  }

  private List<String> words(Recipe recipe, AptSources sources) {
    words.addFirst(program().toString());
    words.add("--variant=minbase");
    words.add("--format=tar");
    words.add("--aptopt=Acquire::Languages \"none\"");
    words.add("--aptopt=APT::Install-Recommends \"false\"");
    words.add("--aptopt=Acquire::Retries \"3\"");
    for (String unneeded : List.of("man", "info", "locale", "doc")) {
      words.add("--dpkgopt=path-exclude=/usr/share/" + unneeded + "/*");
    }
    words.add("--dpkgopt=path-include=/usr/share/doc/*/copyright");
    words.add("--include=ca-certificates," + String.join(",", recipe.packages()));
    // The user that everything in a sandbox runs as has a name, and /workspace is its home.
    hook("customize", "echo 'carrel:x:1000:1000:carrel:/workspace:/bin/bash' >> \"$1/etc/passwd\"");
    hook("customize", "echo 'carrel:x:1000:' >> \"$1/etc/group\"");
    // mmdebstrap takes these two from the host.
    hook("customize", "cd \"$1/etc\" && rm -f resolv.conf hostname && : > resolv.conf > hostname");
    hook(
        "customize",
        "test ! -x \"$1/usr/bin/python3\" || chroot \"$1\" /usr/bin/python3 -I -B -c '"
            + PYTHON_CACHES
            + "' \"$SOURCE_DATE_EPOCH\"");
    hook("customize", "chroot \"$1\" dpkg-query -W >&2");
    words.add(sources.codename());
    words.add("-");
    words.add("-");
    return words;
  }

  private void hook(String when, String script) {
    words.add("--" + when + "-hook=" + script);
  }

  private static String quoted(Path path) {
    return "'" + path.toAbsolutePath().toString().replace("'", "'\\''") + "'";
  }

  private static Path program() {
    return PROGRAMS.stream()
        .filter(Files::isExecutable)
        .findFirst()
        .orElseThrow(
            () ->
                new SandboxException(
                        ErrorCode.NOT_SUPPORTED,
                        "building an image needs mmdebstrap, which this host does not have")
                    .withHint("apt-get install mmdebstrap"));
  }
}
