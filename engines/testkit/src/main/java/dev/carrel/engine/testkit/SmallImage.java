package dev.carrel.engine.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A root file system in a folder, made of single programs of this host and what they need. */
public record SmallImage(Path root) {
  private static final Pattern LIBRARY = Pattern.compile("(/\\S+) \\(0x");

  /** An empty one that every id may look into. */
  public static SmallImage create() throws IOException {
    Path root = Files.createTempDirectory("carrel-image-");
    root.toFile().setExecutable(true, false);
    root.toFile().setReadable(true, false);
    return new SmallImage(root);
  }

  public void delete() {
    Leftovers.delete(root);
  }

  /** Copies programs by name, and what each is linked with. */
  public SmallImage with(String... programs) throws IOException {
    for (String program : programs) {
      Path found =
          Stream.of("/usr/bin", "/usr/sbin", "/bin", "/sbin")
              .map(folder -> Path.of(folder, program))
              .filter(Files::isExecutable)
              .findFirst()
              .orElseThrow(() -> new IOException("this host has no " + program));
      install(found);
    }
    return this;
  }

  /** The links that Debian has since /usr was merged, and a shell behind sh. */
  public SmallImage withShell() throws IOException {
    with("dash");
    for (String link : List.of("bin", "sbin", "lib", "lib64")) {
      Path target = root.resolve("usr").resolve(link);
      if (Files.isSymbolicLink(Path.of("/", link))) {
        Files.createDirectories(target);
        mergeInto(root.resolve(link), target);
        Files.createSymbolicLink(root.resolve(link), Path.of("usr", link));
      }
    }
    Files.createSymbolicLink(root.resolve("usr/bin/sh"), Path.of("dash"));
    Files.createDirectories(root.resolve("etc"));
    return this;
  }

  /** What a loader was found under by its other name goes where that name will lead. */
  private static void mergeInto(Path folder, Path target) throws IOException {
    if (Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
      run("cp", "-a", folder + "/.", target.toString());
      Leftovers.delete(folder);
    }
  }

  /** Python with its own library, without packages. */
  public SmallImage withPython() throws IOException {
    with("python3");
    Path real = Path.of("/usr/bin/python3").toRealPath();
    Path library = Path.of("/usr/lib", real.getFileName().toString());
    Path target = root.resolve(library.toString().substring(1));
    Files.createDirectories(target);
    run("cp", "-a", library + "/.", target.toString());
    for (String needless : List.of("test", "idlelib", "ensurepip", "dist-packages", "pydoc_data")) {
      if (Files.exists(target.resolve(needless))) {
        Leftovers.delete(target.resolve(needless));
      }
    }
    try (var modules =
        Files.newDirectoryStream(library.resolve("lib-dynload"), "_{ctypes,socket}*")) {
      for (Path module : modules) {
        libraries(module);
      }
    }
    return this;
  }

  private void install(Path program) throws IOException {
    copy(program);
    libraries(program);
  }

  private void libraries(Path program) throws IOException {
    Process ldd = new ProcessBuilder("ldd", program.toString()).start();
    String text = new String(ldd.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    var found = LIBRARY.matcher(text);
    while (found.find()) {
      copy(Path.of(found.group(1)));
    }
  }

  private void copy(Path file) throws IOException {
    Path target = root.resolve(file.toString().substring(1));
    if (Files.notExists(target, LinkOption.NOFOLLOW_LINKS)) {
      Files.createDirectories(target.resolveSibling("."));
      Files.copy(file.toRealPath(), target, StandardCopyOption.COPY_ATTRIBUTES);
    }
  }

  private static void run(String... command) throws IOException {
    Process process = new ProcessBuilder(command).inheritIO().start();
    try {
      assertThat(process.waitFor()).as(String.join(" ", command)).isZero();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }
}
