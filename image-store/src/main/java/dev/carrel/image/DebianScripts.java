package dev.carrel.image;

import java.util.List;
import java.util.stream.Stream;

/** What is the same for every root of Debian's packages, however it is made. */
final class DebianScripts {
  /** Begins each line that names a version which the sources do not have. */
  static final String MISSING = "carrel-missing: ";

  /** Lines of apt's configuration that stay in the root. */
  static final List<String> APT =
      List.of(
          "Acquire::Languages \"none\"",
          "APT::Install-Recommends \"false\"",
          "Acquire::Retries \"3\"");

  /** Lines of dpkg's configuration that stay in the root. */
  static final List<String> DPKG =
      List.of(
          "path-exclude=/usr/share/man/*",
          "path-exclude=/usr/share/info/*",
          "path-exclude=/usr/share/locale/*",
          "path-exclude=/usr/share/doc/*",
          "path-include=/usr/share/doc/*/copyright");

  /**
   * Asks the sources for every version of the lock before anything is installed. Takes the root,
   * which has what is wanted in its tmp.
   */
  static final String LOOK_FOR_MISSING =
      """
      set -e
      export APT_CONFIG="${MMDEBSTRAP_APT_CONFIG:-}" LC_ALL=C
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

  /**
   * Makes what the packages left an image of ours; runs inside the root. The user that everything
   * in a sandbox runs as has a name, and /workspace is its home. No quotation mark is single, so
   * that the whole can stand between two of them.
   */
  static final String FINISH =
      """
      set -e
      for file in passwd group; do
        sed -i -e "/^carrel:/d" -e "/^[^:]*:[^:]*:1000:/d" "/etc/$file"
      done
      echo "carrel:x:1000:1000:carrel:/workspace:/bin/bash" >> /etc/passwd
      echo "carrel:x:1000:" >> /etc/group
      if test -x /usr/bin/python3; then
        /usr/bin/python3 -I -B - "$SOURCE_DATE_EPOCH" << "END"
      """
          + PYTHON_CACHES
          + """
          END
          fi
          dpkg-query -W >&2
          """;

  private DebianScripts() {}

  /** Everything to install; what it needs comes with it. */
  static List<String> packages(Recipe recipe) {
    return Stream.concat(Stream.of("ca-certificates"), recipe.packages().stream()).toList();
  }

  /** What to look for: a name and a version on each line. */
  static String wanted(ImageLock lock) {
    var text = new StringBuilder();
    for (LockedPackage one : lock.packages()) {
      text.append(one.name()).append(' ').append(one.version()).append('\n');
    }
    return text.toString();
  }
}
