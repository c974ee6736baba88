package dev.carrel.engine.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.guest.Guest;
import dev.carrel.spi.Command;
import dev.carrel.spi.Machine;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** What {@code profile.py} sees of its confinement, by key. */
public record Profile(Map<String, String> lines) {
  private static final long SECONDS = 60;

  /** For suites that run as a user who could not see it all, or has no rights to lose. */
  private static final String TAKEN = "carrel.test.profiles";

  static Profile ofHost() throws Exception {
    return parse(taken("host").orElse(List.of("/usr/bin/python3", "-c", program())));
  }

  /** Takes both profiles to compare with, for suites that run as an ordinary user. */
  static void take(Path folder) throws Exception {
    Files.createDirectory(folder);
    ofHost().write(folder.resolve("host"));
    Path bundle = Files.createTempDirectory("carrel-runc-");
    ofRunc(bundle).write(folder.resolve("runc"));
    Leftovers.delete(bundle);
  }

  private void write(Path file) throws IOException {
    Files.write(file, lines.entrySet().stream().map(l -> l.getKey() + " " + l.getValue()).toList());
  }

  /** The command that prints one that was taken before. */
  private static Optional<List<String>> taken(String name) {
    return Optional.ofNullable(System.getProperty(TAKEN))
        .map(folder -> List.of("cat", folder + "/" + name));
  }

  public static Profile ofSandbox(Machine machine) throws IOException {
    Finished finished =
        Finished.run(Guest.of(machine), Command.of("/usr/bin/python3", "-c", program()));
    assertThat(finished.code()).as(finished.stderr()).isZero();
    return parse(finished.stdout());
  }

  /** In a container that runc makes from its own default configuration, on the same /usr. */
  static Profile ofRunc(Path bundle) throws Exception {
    if (taken("runc").isPresent()) {
      return parse(taken("runc").get());
    }
    Path root = Files.createDirectories(bundle.resolve("rootfs"));
    for (String folder : List.of("usr", "proc", "dev", "sys", "tmp")) {
      Files.createDirectories(root.resolve(folder));
    }
    for (String link : List.of("bin", "sbin", "lib", "lib64")) {
      if (Files.isSymbolicLink(Path.of("/", link))) {
        Files.createSymbolicLink(root.resolve(link), Path.of("usr", link));
      }
    }
    Files.writeString(root.resolve("profile.py"), program());
    output(List.of("runc", "spec", "--bundle", bundle.toString()));
    Path config = bundle.resolve("config.json");
    String id = "carrel-it-" + ProcessHandle.current().pid();
    String usr =
        "\"mounts\": [{\"destination\": \"/usr\", \"type\": \"bind\", \"source\": \"/usr\","
            + " \"options\": [\"rbind\", \"ro\"]},";
    Files.writeString(
        config,
        Files.readString(config)
            .replace("\"terminal\": true", "\"terminal\": false")
            .replace("\"uid\": 0", "\"uid\": 1000")
            .replace("\"gid\": 0", "\"gid\": 1000")
            .replaceFirst("\"sh\"", "\"/usr/bin/python3\", \"/profile.py\"")
            .replaceFirst("\"mounts\": \\[", usr)
            .replaceFirst("\"linux\": \\{", "\"linux\": {\"cgroupsPath\": \"/" + id + "\","));
    return parse(List.of("runc", "run", "--bundle", bundle.toString(), id));
  }

  public static String program() throws IOException {
    try (InputStream source = Profile.class.getResourceAsStream("profile.py")) {
      assertThat(source).isNotNull();
      return new String(source.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static String output(List<String> command) throws Exception {
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try {
      String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(process.waitFor(SECONDS, TimeUnit.SECONDS)).isTrue();
      assertThat(process.exitValue()).as(String.join(" ", command.subList(0, 2))).isZero();
      return text;
    } finally {
      process.destroyForcibly();
    }
  }

  private static Profile parse(List<String> command) throws Exception {
    return parse(output(command));
  }

  public static Profile parse(String text) {
    var lines = new TreeMap<String, String>();
    text.lines()
        .forEach(
            line ->
                lines.put(
                    line.substring(0, line.indexOf(' ')), line.substring(line.indexOf(' ') + 1)));
    assertThat(lines).as(text).isNotEmpty();
    return new Profile(lines);
  }

  String at(String key) {
    String value = lines.get(key);
    assertThat(value).as("profile line %s", key).isNotNull();
    return String.valueOf(value);
  }

  /** The lines whose key starts so, by the rest of the key. */
  Map<String, String> under(String prefix) {
    var found = new TreeMap<String, String>();
    lines.forEach(
        (key, value) -> {
          if (key.startsWith(prefix)) {
            found.put(key.substring(prefix.length()), value);
          }
        });
    assertThat(found).as("profile lines %s…", prefix).isNotEmpty();
    return found;
  }

  int capabilities(String set) {
    return new BigInteger(at("status.Cap" + set), 16).bitCount();
  }

  /** A hard limit; unlimited is the most there is. */
  long limit(String name) {
    long value = Long.parseLong(at("limit." + name));
    return value < 0 ? Long.MAX_VALUE : value;
  }

  /** Whether a call got past the filter and the capabilities to its own arguments. */
  static boolean reached(String answer) {
    return !answer.equals("Operation_not_permitted") && !answer.equals("Function_not_implemented");
  }
}
