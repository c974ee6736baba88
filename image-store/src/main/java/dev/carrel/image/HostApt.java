package dev.carrel.image;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** How this host's own apt gets at packages, for an apt elsewhere that is to do the same. */
final class HostApt {
  private static final Path PROGRAM = Path.of("/usr/bin/apt-config");
  private static final Path TRUSTED = Path.of("/etc/apt/trusted.gpg.d");
  private static final Path AUTHORITIES = Path.of("/etc/ssl/certs/ca-certificates.crt");
  private static final long PATIENCE_SECONDS = 20;
  private static final int MAX_FILE = 4 << 20;

  /** The way to the sources; not what names files, programs or the host's own folders. */
  private static final Pattern WAY =
      Pattern.compile(
          "Acquire::(?:https?::(?:Proxy(?:::[A-Za-z0-9.-]+)?|Timeout|Pipeline-Depth)"
              + "|ForceIPv[46]|Check-Valid-Until|Check-Date) \"[^\"/][^\"]*\";");

  private HostApt() {}

  /** Lines of apt's configuration. */
  static List<String> settings() throws IOException, InterruptedException {
    if (!Files.isExecutable(PROGRAM)) {
      return List.of();
    }
    Process process =
        new ProcessBuilder(PROGRAM.toString(), "dump", "Acquire")
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    try {
      process.getOutputStream().close();
      String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
        throw new IOException("this host's apt does not tell its settings: " + PROGRAM + " failed");
      }
      return text.lines().filter(line -> WAY.matcher(line).matches()).toList();
    } finally {
      process.destroyForcibly();
    }
  }

  /** Whom the host trusts to sign sources that name nobody, by the files' names. */
  static Map<String, byte[]> trusted() throws IOException {
    var files = new TreeMap<String, byte[]>();
    if (Files.isDirectory(TRUSTED)) {
      try (Stream<Path> all = Files.list(TRUSTED)) {
        for (Path file : all.sorted().toList()) {
          String name = String.valueOf(file.getFileName());
          if (Files.isRegularFile(file) && (name.endsWith(".gpg") || name.endsWith(".asc"))) {
            files.put(name, read(file));
          }
        }
      }
    }
    return files;
  }

  /** Who vouches for servers, for a base image that knows nobody yet; empty where none are. */
  static byte[] authorities() throws IOException {
    return Files.isRegularFile(AUTHORITIES) ? read(AUTHORITIES) : new byte[0];
  }

  static byte[] read(Path file) throws IOException {
    if (Files.size(file) > MAX_FILE) {
      throw new IOException(file + " has more than " + MAX_FILE + " bytes");
    }
    return Files.readAllBytes(file);
  }
}
