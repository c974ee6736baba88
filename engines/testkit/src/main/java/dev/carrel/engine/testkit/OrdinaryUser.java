package dev.carrel.engine.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * A user without privileges that the tests, which are root, can start programs as. It has a copy of
 * the class path and of the guest's folder, since it may not see the originals.
 */
public final class OrdinaryUser implements AutoCloseable {
  public static final int ID = 64_999;

  /** Another group that it is in, and its sandboxes are not to be. */
  public static final int GROUP = 64_998;

  /** What {@link #withSubordinateIds} gives it: the first, and how many. */
  public static final int SUBORDINATE = 3_000_000;

  public static final int SUBORDINATES = 65_536;

  private static final int MINUTES = 10;
  private static final Pattern SUMMARY =
      Pattern.compile("(\\d+) passed, (\\d+) failed, (\\d+) skipped");

  private final Path folder;
  private final Path lib;
  private final String classPath;

  public OrdinaryUser() throws IOException {
    folder = Files.createTempDirectory("carrel-user-");
    folder.toFile().setExecutable(true, false);
    folder.toFile().setReadable(true, false);
    lib = folder.resolve("lib");
    copy(Path.of(System.getProperty("carrel.lib", "")), lib);
    var parts = new ArrayList<String>();
    int number = 0;
    for (String part : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      Path source = Path.of(part);
      if (Files.exists(source)) {
        Path target = folder.resolve(number++ + "-" + source.getFileName());
        copy(source, target);
        parts.add(target.toString());
      }
    }
    classPath = String.join(File.pathSeparator, parts);
  }

  /**
   * The command line that runs a class of tests as this user.
   *
   * @param allowMissing measures, separated by commas, that it finds in {@link #allowMissing()}
   */
  public List<String> suite(Class<?> suite, String allowMissing) {
    String user = Integer.toString(ID);
    return List.of(
        "setpriv",
        "--reuid",
        user,
        "--regid",
        user,
        "--groups",
        Integer.toString(GROUP),
        "--inh-caps=-all",
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:-UsePerfData",
        "-Dcarrel.lib=" + lib,
        "-Dcarrel.test.allow-missing=" + allowMissing,
        "-Dcarrel.test.profiles=" + folder.resolve("profiles"),
        "-cp",
        classPath,
        SuiteRun.class.getName(),
        suite.getName());
  }

  /** Looks at the host as root, for a {@link HardeningContract} that runs as this user. */
  public void takeProfiles() throws Exception {
    Profile.take(folder.resolve("profiles"));
  }

  /** In a suite that runs as this user: what may be missing. */
  public static Set<String> allowMissing() {
    String names = System.getProperty("carrel.test.allow-missing", "");
    return names.isEmpty() ? Set.of() : Set.of(names.split(",", -1));
  }

  /**
   * The same command on a host that knows this user and has given it subordinate ids. In a mount
   * namespace of its own: the host's tables stay as they are.
   *
   * @param first lines of a shell that come before it
   */
  public List<String> withSubordinateIds(List<String> command, String first) throws IOException {
    Path tables = Files.createDirectories(folder.resolve("tables"));
    String entry = "carrel-test:x:" + ID + ":" + ID + "::/tmp:/bin/sh\n";
    String passwd = Files.readString(Path.of("/etc/passwd")) + entry;
    String range = "carrel-test:" + SUBORDINATE + ":" + SUBORDINATES + "\n";
    var script = new StringBuilder("set -e\nchmod 755 " + tables + "\n");
    for (var table : Map.of("passwd", passwd, "subuid", range, "subgid", range).entrySet()) {
      Path file = Files.writeString(tables.resolve(table.getKey()), table.getValue());
      script.append("chmod 644 " + file + "\nmount --bind " + file + " /etc/" + table.getKey());
      script.append('\n');
    }
    script.append(first).append("exec \"$@\"\n");
    var whole = new ArrayList<String>();
    whole.addAll(List.of("unshare", "-m", "sh", "-c", script.toString(), "sh"));
    whole.addAll(command);
    return whole;
  }

  /** Holds what a suite printed to its end: more passed than that, and nothing else happened. */
  public static void assertAllPassed(String output, int leastTests) {
    var summary = SUMMARY.matcher(output);
    assertThat(summary.find()).as(output).isTrue();
    assertThat(Integer.parseInt(summary.group(1))).as(output).isGreaterThanOrEqualTo(leastTests);
    assertThat(summary.group(2)).as(output).isEqualTo("0");
    assertThat(summary.group(3)).as(output).isEqualTo("0");
  }

  /** Runs a command to its end and returns what it printed. */
  public String run(List<String> command) throws IOException, InterruptedException {
    Path output = folder.resolve("output");
    var builder =
        new ProcessBuilder(command)
            .directory(new File("/tmp"))
            .redirectErrorStream(true)
            .redirectOutput(output.toFile());
    builder.environment().keySet().retainAll(List.of("PATH", "LANG"));
    Process process = builder.start();
    try {
      assertThat(process.waitFor(MINUTES, TimeUnit.MINUTES)).as("it ends in time").isTrue();
    } finally {
      process.destroyForcibly();
    }
    return Files.readString(output);
  }

  @Override
  public void close() {
    Leftovers.delete(folder);
    Path registry = Path.of("/tmp/carrel-ids-" + ID);
    if (Files.exists(registry)) {
      Leftovers.delete(registry);
    }
  }

  private static void copy(Path source, Path target) throws IOException {
    Files.walkFileTree(
        source,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes attributes)
              throws IOException {
            Path copy = target.resolve(source.relativize(path).toString());
            Files.createDirectory(copy);
            copy.toFile().setExecutable(true, false);
            copy.toFile().setReadable(true, false);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path path, BasicFileAttributes attributes)
              throws IOException {
            Path copy =
                path.equals(source) ? target : target.resolve(source.relativize(path).toString());
            Files.copy(path, copy);
            copy.toFile().setReadable(true, false);
            copy.toFile().setExecutable(path.toFile().canExecute(), false);
            return FileVisitResult.CONTINUE;
          }
        });
  }
}
