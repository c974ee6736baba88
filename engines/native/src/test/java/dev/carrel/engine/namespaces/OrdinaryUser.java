package dev.carrel.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.testkit.Leftovers;
import java.io.File;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A user without privileges that the tests, which are root, can start programs as. It has a copy of
 * the class path and of the guest's folder, since it may not see the originals.
 */
final class OrdinaryUser implements AutoCloseable {
  static final int ID = 64_999;
  private static final int MINUTES = 4;

  private final Path folder;
  private final Path lib;
  private final String classPath;

  OrdinaryUser() throws IOException {
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

  /** The command line that runs the contract as this user. */
  List<String> contract(String allowMissing) {
    String user = Integer.toString(ID);
    return List.of(
        "setpriv",
        "--reuid",
        user,
        "--regid",
        user,
        "--clear-groups",
        "--inh-caps=-all",
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:-UsePerfData",
        "-Dcarrel.lib=" + lib,
        "-Dcarrel.test.allow-missing=" + allowMissing,
        "-cp",
        classPath,
        ContractRun.class.getName());
  }

  /** Runs a command to its end and returns what it printed. */
  String run(List<String> command) throws IOException, InterruptedException {
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
