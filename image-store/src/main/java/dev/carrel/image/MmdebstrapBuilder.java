package dev.carrel.image;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Makes roots with {@code mmdebstrap}, whose tar is unpacked as if a stranger had sent it. */
final class MmdebstrapBuilder implements RootBuilder {
  static final String NAME = "mmdebstrap";

  private static final long GRACE_SECONDS = 30;
  private static final long LOOK_MILLIS = 100;

  private final Path program;

  MmdebstrapBuilder(Path program) {
    this.program = program;
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Made make(Job job) throws IOException, InterruptedException {
    AptSources sources = AptSources.of(Path.of("/etc"));
    ImageLock lock = job.order().lock();
    if (lock != null) {
      lock.requireFor(sources.codename(), "this host");
    }
    Snapshot snapshot = job.order().snapshotOf(job.recipe());
    if (snapshot != null) {
      sources = sources.at(snapshot);
    }
    List<String> command =
        lock == null
            ? MmdebstrapCommand.newest(program, job.recipe(), sources)
            : MmdebstrapCommand.locked(program, job.recipe(), sources, lock, job.files());
    return new Made(run(command, sources, job), sources.codename());
  }

  private static Digest run(List<String> command, AptSources sources, Job job)
      throws IOException, InterruptedException {
    // When it fails it sends its process group a signal, and that must not be the server's.
    List<String> apart = new ArrayList<>(List.of("setsid"));
    apart.addAll(command);
    var builder = new ProcessBuilder(apart);
    builder.environment().clear();
    builder
        .environment()
        .put("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    builder.environment().put("LC_ALL", "C.UTF-8");
    builder.environment().put("HOME", "/nonexistent");
    builder.environment().put("SOURCE_DATE_EPOCH", Long.toString(job.epoch()));
    Process process = builder.start();
    var said = new BuildOutput(job.progress());
    Thread listener =
        Thread.ofVirtual().name("build").start(() -> listen(process, said, job.progress()));
    endWith(Thread.currentThread(), process);
    try {
      try (OutputStream in = process.getOutputStream()) {
        in.write(sources.text().getBytes(StandardCharsets.UTF_8));
      }
      Digest layer = job.layers().add(process.getInputStream(), null, job.progress());
      int status = process.waitFor();
      listener.join();
      if (status != 0) {
        throw said.failure("mmdebstrap ended with status " + status);
      }
      return layer;
    } catch (IOException | RuntimeException e) {
      // What it said explains this better than a tar that broke off, and it may say more until it
      // has ended with all that it started.
      end(process);
      listener.join();
      throw said.failure(String.valueOf(e.getMessage()));
    } finally {
      end(process);
    }
  }

  private static void listen(Process process, BuildOutput said, Progress progress) {
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        said.hear(line);
      }
    } catch (IOException e) {
      progress.log("what the build says can no longer be read: " + e.getMessage());
    }
  }

  /** No interrupt wakes who reads from a pipe: somebody else looks for one, and ends the writer. */
  private static void endWith(Thread worker, Process process) {
    Thread.ofVirtual()
        .name("build-watch")
        .start(
            () -> {
              try {
                while (!process.waitFor(LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
                  if (worker.isInterrupted()) {
                    end(process);
                    return;
                  }
                }
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
  }

  /** With all that it started: each of them may hold the pipes. */
  private static void end(Process process) throws InterruptedException {
    List<ProcessHandle> family = process.descendants().toList();
    process.destroy();
    try {
      if (process.waitFor(GRACE_SECONDS, TimeUnit.SECONDS)) {
        return;
      }
    } finally {
      process.destroyForcibly();
      family.forEach(ProcessHandle::destroyForcibly);
    }
  }
}
