package dev.carrel.image;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Workshop;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Makes roots in a container on a base image: apt installs what is asked for there, and the
 * container's files are unpacked as if a stranger had sent them.
 */
final class WorkshopBuilder implements RootBuilder {
  private static final Duration MOST = Duration.ofHours(2);
  private static final Duration PATIENCE = Duration.ofMinutes(5);

  private final Workshop workshop;
  private final String base;

  /**
   * @param base the name of the image to begin with
   */
  WorkshopBuilder(Workshop workshop, String base) {
    this.workshop = workshop;
    this.base = base;
  }

  @Override
  public String name() {
    return workshop.name() + ", on " + base;
  }

  @Override
  public Made make(Job job) throws IOException, InterruptedException {
    var task =
        new Workshop.Task(
            base,
            WorkshopKit.COMMAND,
            Map.of(
                "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "LC_ALL", "C.UTF-8",
                "HOME", "/nonexistent",
                "SOURCE_DATE_EPOCH", Long.toString(job.epoch())));
    var said = new BuildOutput(job.progress());
    try (Workshop.Bench bench = workshop.open(task, job.progress()::log)) {
      WorkshopKit kit = kit(bench, job);
      bench.write(kit.tar());
      int status = bench.run(said::hear, MOST);
      if (status != 0) {
        throw said.failure("its script ended with status " + status);
      }
      job.progress().step("taking the files out of the container");
      try (InputStream tar = new WholeTar(new PatientStream(bench.export(), PATIENCE))) {
        return new Made(job.layers().add(tar, null, job.progress()), kit.sources().codename());
      }
    } catch (IOException | SandboxException e) {
      // Whoever was told to stop has nothing to complain about.
      if (Thread.interrupted()) {
        throw new InterruptedException("the build was given up");
      }
      throw e instanceof SandboxException known
          ? known
          : said.failure(String.valueOf(e.getMessage()));
    }
  }

  private WorkshopKit kit(Workshop.Bench bench, Job job) throws IOException, InterruptedException {
    AptSources own =
        BaseSystem.sources(bench, base, Files.createDirectory(job.files().resolve("etc")));
    ImageLock lock = job.order().lock();
    if (lock != null) {
      lock.requireFor(own.codename(), "the base image " + base);
    }
    List<String> hosts = hostsLines(own.codename());
    boolean ofHost = !hosts.isEmpty();
    job.progress()
        .log(
            "packages of %s come from the sources of %s"
                .formatted(own.codename(), ofHost ? "this host" : "the base image"));
    AptSources sources = ofHost ? new AptSources(own.codename(), hosts) : own;
    Snapshot snapshot = job.order().snapshotOf(job.recipe());
    if (snapshot != null) {
      sources = sources.at(snapshot);
    }
    return new WorkshopKit(job.recipe(), lock, sources, ofHost);
  }

  /** Empty where this host is of another release, or of none that has packages for this. */
  private static List<String> hostsLines(String codename) {
    try {
      AptSources sources = AptSources.of(Path.of("/etc"));
      return sources.codename().equals(codename) ? sources.lines() : List.of();
    } catch (IOException noneHere) {
      return List.of();
    }
  }
}
