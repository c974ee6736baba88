package dev.carrel.engine.namespaces;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Isolation.Measure;
import dev.carrel.spi.Limits;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.util.List;

/** What the spawn server tells of one sandbox. */
record Sandbox(
    SandboxId id,
    long pid,
    boolean running,
    boolean paused,
    Limits limits,
    Isolation isolation,
    List<Cgroup> cgroups) {
  private static final double MILLIS = 1000.0;

  static Sandbox of(Frame frame) throws IOException {
    return new Sandbox(
        new SandboxId(frame.text(Frame.ID)),
        frame.number(Frame.PID),
        frame.number(Frame.RUNNING) == 1,
        frame.number(Frame.PAUSED) == 1,
        new Limits(
            new DataSize(frame.number(Frame.MEMORY)),
            frame.number(Frame.CPU) / MILLIS,
            Math.toIntExact(frame.number(Frame.PIDS)),
            new DataSize(frame.number(Frame.DISK)),
            Math.toIntExact(frame.number(Frame.NOFILE))),
        isolation(frame),
        frame.texts(Frame.CGROUP).stream().map(Cgroup::parse).toList());
  }

  static Frame request(SandboxId id, Limits limits) {
    return withLimits(Frame.of(Frame.CREATE).with(Frame.ID, id.value()), limits)
        .with(Frame.DISK, limits.disk().bytes())
        .with(Frame.NOFILE, limits.openFiles());
  }

  /** Adds the limits that can change while it runs. */
  static Frame withLimits(Frame request, Limits limits) {
    return request
        .with(Frame.MEMORY, limits.memory().bytes())
        .with(Frame.CPU, Math.round(limits.cpus() * MILLIS))
        .with(Frame.PIDS, limits.pids());
  }

  static Isolation isolation(Frame frame) {
    return new Isolation(
        Isolation.Strength.NAMESPACES,
        frame.texts(Frame.MEASURE).stream().map(Sandbox::measure).toList());
  }

  /** {@code +name detail} or {@code -name reason}. */
  private static Measure measure(String text) {
    int space = text.indexOf(' ');
    return new Measure(
        text.substring(1, space), text.startsWith("+"), text.substring(space + 1).strip());
  }
}
