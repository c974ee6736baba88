package dev.carrel.engine.host;

import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import dev.carrel.spi.VolumeId;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** A volume that a process of ours has mounted, for us to read in; over when that ends. */
public record VolumeLoan(Process holder, Path upper) implements AutoCloseable {
  private static final long END_SECONDS = 30;

  public static VolumeLoan of(EngineSettings settings, VolumeId volume) throws IOException {
    Process holder =
        new ProcessBuilder(
                settings.libDirectory().resolve("guest").toString(),
                "volume",
                "lend",
                settings.volumeDirectory().toAbsolutePath().normalize().toString(),
                volume.value())
            .start();
    String said = new BufferedReader(reader(holder)).readLine();
    if (said == null) {
      String why = new String(holder.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
      holder.destroyForcibly();
      throw new SandboxException(
          ErrorCode.ENGINE_FAILED,
          "reading volume %s: %s".formatted(volume, Text.printable(why.strip(), 400)));
    }
    return new VolumeLoan(holder, Path.of(said));
  }

  private static InputStreamReader reader(Process holder) {
    return new InputStreamReader(holder.getInputStream(), StandardCharsets.UTF_8);
  }

  /** Returns when it is mounted no more. */
  @Override
  public void close() throws IOException {
    holder.getOutputStream().close();
    try {
      if (!holder.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
        holder.destroyForcibly();
      }
    } catch (InterruptedException e) {
      holder.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
