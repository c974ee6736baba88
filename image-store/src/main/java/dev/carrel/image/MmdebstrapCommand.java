package dev.carrel.image;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How mmdebstrap is called, so that the same packages and the same time give the same tar. */
final class MmdebstrapCommand {
  private final List<String> words = new ArrayList<>();

  private MmdebstrapCommand(Path program) {
    words.add(program.toString());
  }

  static List<String> newest(Path program, Recipe recipe, AptSources sources) {
    return new MmdebstrapCommand(program).words(recipe, sources);
  }

  /**
   * @param folder for files that mmdebstrap reads
   */
  static List<String> locked(
      Path program, Recipe recipe, AptSources sources, ImageLock lock, Path folder)
      throws IOException {
    var command = new MmdebstrapCommand(program);
    Path wanted = Files.writeString(folder.resolve("wanted"), DebianScripts.wanted(lock));
    Path preferences = Files.writeString(folder.resolve("preferences"), lock.preferences());
    command.hook("setup", "upload " + quoted(wanted) + " /tmp/carrel.wanted");
    command.hook("setup", "upload " + quoted(preferences) + " /etc/apt/preferences.d/carrel");
    command.hook("setup", DebianScripts.LOOK_FOR_MISSING);
    // Done above.
    command.words.add("--skip=update");
    command.hook("customize", "rm \"$1/etc/apt/preferences.d/carrel\"");
    return command.words(recipe, sources);
  }

  private List<String> words(Recipe recipe, AptSources sources) {
    words.add("--variant=minbase");
    words.add("--format=tar");
    DebianScripts.APT.forEach(line -> words.add("--aptopt=" + line));
    DebianScripts.DPKG.forEach(line -> words.add("--dpkgopt=" + line));
    words.add("--include=" + String.join(",", DebianScripts.packages(recipe)));
    // mmdebstrap takes these two from the host.
    hook("customize", "cd \"$1/etc\" && rm -f resolv.conf hostname && : > resolv.conf > hostname");
    hook("customize", "chroot \"$1\" /bin/sh -c '" + DebianScripts.FINISH + "'");
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
}
