package dev.carrel.engine.docker;

import dev.carrel.engine.host.Complaint;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.VolumeId;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** What the guest's program does on the host: mount volumes and copy them. */
record GuestProgram(Path program, Path volumeDirectory) {
  private static final long SECONDS = 600;

  /**
   * Mounts a volume, made when there is none, as /workspace of a machine that waits for it.
   *
   * @return its size
   */
  DataSize place(VolumeId volume, DataSize size, long pid, int base) throws IOException {
    String said =
        run(
            "place",
            volume.value(),
            Long.toString(size.bytes()),
            Long.toString(pid),
            Integer.toString(base));
    return new DataSize(Long.parseLong(said));
  }

  /**
   * Makes {@code to} of {@code from}; whoever has it stands still meanwhile.
   *
   * @param user its first process
   */
  void copy(VolumeId from, VolumeId to, Optional<Long> user) throws IOException {
    if (user.isPresent()) {
      run("copy", from.value(), to.value(), user.get().toString(), "workspace");
    } else {
      run("copy", from.value(), to.value());
    }
  }

  private String run(String verb, String... more) throws IOException {
    var command = new ArrayList<String>();
    command.addAll(List.of(program.toString(), "volume", verb, volumeDirectory.toString()));
    command.addAll(List.of(more));
    Path said = Files.createTempFile("carrel-", ".log");
    try {
      Process process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectInput(new File("/dev/null"))
              .redirectOutput(said.toFile())
              .start();
      int status = await(process);
      String text = Files.readString(said, StandardCharsets.UTF_8).strip();
      if (status != 0) {
        throw Complaint.of(text);
      }
      return text;
    } finally {
      Files.delete(said);
    }
  }

  private static int await(Process process) throws IOException {
    try {
      if (!process.waitFor(SECONDS, TimeUnit.SECONDS)) {
        throw new IOException("a volume was not ready in " + SECONDS + " s");
      }
      return process.exitValue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while a volume was made ready", e);
    } finally {
      process.destroyForcibly();
    }
  }
}
