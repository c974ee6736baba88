package dev.carrel.image;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Builds a root from packages with {@code mmdebstrap}, whose tar is unpacked as if a stranger had
 * sent it.
 */
final class DebianBuild {
  private static final List<Path> PROGRAMS =
      List.of(Path.of("/usr/bin/mmdebstrap"), Path.of("/usr/local/bin/mmdebstrap"));
  private static final long GRACE_SECONDS = 30;

  private final Layers layers;

  DebianBuild(Layers layers) {
    this.layers = layers;
  }

  Digest build(Recipe recipe, Progress progress) throws IOException, InterruptedException {
    AptSources sources = AptSources.of(Path.of("/etc"));
    var builder = new ProcessBuilder(command(recipe, sources));
    builder.environment().clear();
    builder
        .environment()
        .put("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    builder.environment().put("LC_ALL", "C.UTF-8");
    builder.environment().put("HOME", "/nonexistent");
    progress.step("installing " + recipe.packages().size() + " packages and what they need");
    Process process = builder.start();
    var said = new Said(progress);
    Thread listener =
        Thread.ofVirtual().name("build-" + recipe.name()).start(() -> said.read(process));
    try {
      try (OutputStream in = process.getOutputStream()) {
        in.write((String.join("\n", sources.lines()) + "\n").getBytes(StandardCharsets.UTF_8));
      }
      Digest layer = layers.add(process.getInputStream(), null, progress);
      int status = process.waitFor();
      listener.join();
      if (status != 0) {
        throw said.failure("mmdebstrap ended with status " + status);
      }
      return layer;
    } catch (IOException | RuntimeException e) {
      // What it said explains this better than a tar that broke off.
      process.destroy();
      process.waitFor(GRACE_SECONDS, TimeUnit.SECONDS);
      listener.join();
      throw said.failure(String.valueOf(e.getMessage()));
    } finally {
      end(process);
    }
  }

  private static List<String> command(Recipe recipe, AptSources sources) {
    Path program =
        PROGRAMS.stream()
            .filter(Files::isExecutable)
            .findFirst()
            .orElseThrow(
                () ->
                    new SandboxException(
                            ErrorCode.NOT_SUPPORTED,
                            "building an image needs mmdebstrap, which this host does not have")
                        .withHint("apt-get install mmdebstrap"));
    var command = new ArrayList<String>();
    command.add(program.toString());
    command.add("--variant=minbase");
    command.add("--format=tar");
    command.add("--aptopt=Acquire::Languages \"none\"");
    command.add("--aptopt=APT::Install-Recommends \"false\"");
    command.add("--aptopt=Acquire::Retries \"3\"");
    for (String unneeded : List.of("man", "info", "locale", "doc")) {
      command.add("--dpkgopt=path-exclude=/usr/share/" + unneeded + "/*");
    }
    command.add("--dpkgopt=path-include=/usr/share/doc/*/copyright");
    command.add("--include=ca-certificates," + String.join(",", recipe.packages()));
    // The user that everything in a sandbox runs as has a name, and /workspace is its home.
    command.add(
        "--customize-hook=echo 'carrel:x:1000:1000:carrel:/workspace:/bin/bash' >> \"$1/etc/passwd\"");
    command.add("--customize-hook=echo 'carrel:x:1000:' >> \"$1/etc/group\"");
    command.add("--customize-hook=chroot \"$1\" dpkg-query -W >&2");
    command.add(sources.codename());
    command.add("-");
    command.add("-");
    return command;
  }

  private static void end(Process process) throws InterruptedException {
    process.destroy();
    if (!process.waitFor(GRACE_SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly();
    }
  }

  /** What a build writes for people. */
  private static final class Said {
    private final Progress progress;
    private volatile String error = "";

    Said(Progress progress) {
      this.progress = progress;
    }

    void read(Process process) {
      try (BufferedReader lines =
          new BufferedReader(
              new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8))) {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          if (line.startsWith("E:")) {
            error = line.substring(2).strip();
          }
          if (line.startsWith("I: ")) {
            progress.step(line.substring(3));
          } else {
            progress.log(line);
          }
        }
      } catch (IOException e) {
        progress.log("what the build says can no longer be read: " + e.getMessage());
      }
    }

    SandboxException failure(String otherwise) {
      return new SandboxException(
              ErrorCode.IMAGE_SOURCE_FAILED,
              "the build failed: " + (error.isEmpty() ? otherwise : error))
          .withHint("'carrel images log NAME' shows everything it said");
    }
  }
}
