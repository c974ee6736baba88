package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Messages send people to commands, and those have to be there. */
class NamedCommandsTest {
  private static final Path ROOT = Path.of(System.getProperty("carrel.root", ".."));
  private static final Pattern NAMED = Pattern.compile("[('`]carrel ([a-z]+)");
  private static final Pattern COMMAND =
      Pattern.compile("(?:name|aliases) = \\{?((?:\"[a-z-]+\"(?:, )?)+)");

  @Test
  void eachCommandThatAMessageNamesIsThere() throws IOException {
    var commands = new TreeSet<String>();
    for (String list : found(COMMAND, "cli", "dist", "e2e/performance")) {
      for (String quoted : list.split(", ", -1)) {
        commands.add(quoted.replace("\"", ""));
      }
    }
    assertThat(commands).contains("serve", "vault", "volume");

    Set<String> named = found(NAMED, "server", "control", "cli", "image-store", "dist");

    assertThat(named).contains("volume", "doctor");
    assertThat(commands).containsAll(named);
  }

  private static Set<String> found(Pattern pattern, String... modules) throws IOException {
    var found = new TreeSet<String>();
    for (String module : modules) {
      try (Stream<Path> sources = Files.walk(ROOT.resolve(module).resolve("src/main/java"))) {
        for (Path source : sources.filter(path -> path.toString().endsWith(".java")).toList()) {
          pattern.matcher(Files.readString(source)).results().forEach(m -> found.add(m.group(1)));
        }
      }
    }
    return found;
  }
}
