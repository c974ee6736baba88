package dev.carrel.control.image;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;

/**
 * A root with a shell and little else, made of the host's own programs, as docker save packs it.
 */
final class SmallImage {
  private static final Pattern LIBRARY = Pattern.compile("(/\\S+) \\(0x");

  private final Path folder;
  private final Path root;

  /**
   * @param folder exists and is the image's alone
   */
  SmallImage(Path folder) throws Exception {
    this.folder = folder;
    this.root = Files.createDirectory(folder.resolve("root"));
    for (String program : List.of("bash", "cat", "ls", "stat", "mkdir", "rm", "mkfifo")) {
      install(Path.of("/usr/bin", program));
    }
    Files.createSymbolicLink(root.resolve("bin"), Path.of("usr/bin"));
    Files.createSymbolicLink(root.resolve("usr/bin/sh"), Path.of("bash"));
    Files.createDirectory(root.resolve("etc"));
    Files.writeString(root.resolve("etc/passwd"), "carrel:x:1000:1000::/workspace:/bin/sh\n");
  }

  SmallImage with(String name, String content) throws IOException {
    Path file = root.resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, content);
    return this;
  }

  /** The archive, with the root as its only layer. */
  Path saved() throws Exception {
    Path layer = folder.resolve("layer.tar");
    run("tar", "-C", root.toString(), "-cf", layer.toString(), ".");
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(layer));
    Files.writeString(
        folder.resolve("config.json"),
        "{\"rootfs\":{\"diff_ids\":[\"sha256:" + HexFormat.of().formatHex(digest) + "\"]}}");
    Files.writeString(
        folder.resolve("manifest.json"),
        "[{\"Config\":\"config.json\",\"Layers\":[\"layer.tar\"]}]");
    Path archive = folder.resolve("archive.tar");
    run(
        "tar",
        "-C",
        folder.toString(),
        "-czf",
        archive.toString(),
        "layer.tar",
        "config.json",
        "manifest.json");
    return archive;
  }

  private void install(Path program) throws Exception {
    copy(program);
    String text = run("ldd", program.toString());
    var libraries = LIBRARY.matcher(text);
    while (libraries.find()) {
      copy(Path.of(libraries.group(1)));
    }
  }

  private void copy(Path file) throws IOException {
    Path target = root.resolve(file.toString().substring(1));
    if (Files.notExists(target, LinkOption.NOFOLLOW_LINKS)) {
      Files.createDirectories(target.getParent());
      Files.copy(file.toRealPath(), target, StandardCopyOption.COPY_ATTRIBUTES);
    }
  }

  private static String run(String... command) throws Exception {
    Process process = new ProcessBuilder(command).start();
    String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(String.join(" ", command)).isZero();
    return text;
  }
}
