package dev.carrel.control.host;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A command that runs on the host, until it ends or its time is over. It has no input, the
 * environment it was given and nothing else of the server's, and whatever it started ends with it,
 * also what has left its process group: everything that descends from it carries its mark.
 */
final class HostProcess implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(HostProcess.class);
  private static final String MARK = "CARREL_COMMAND_MARK";
  private static final Duration LAST_WORDS = Duration.ofSeconds(2);
  private static final int MAX_SWEEPS = 50;
  private static final int SIGNALLED = 128;

  private final Process process;
  private final @Nullable HostGroup group;
  private final byte[] mark;
  private final Output stdout;
  private final Output stderr;

  private HostProcess(Process process, @Nullable HostGroup group, String mark, int maxOutput) {
    this.process = process;
    this.group = group;
    this.mark = (MARK + "=" + mark).getBytes(StandardCharsets.US_ASCII);
    this.stdout = new Output(process.getInputStream(), maxOutput);
    this.stderr = new Output(process.getErrorStream(), maxOutput);
  }

  /**
   * @param group what bounds it, and is closed with it; null: the host has none
   */
  static HostProcess start(
      List<String> command,
      Path folder,
      Map<String, String> environment,
      int maxOutput,
      @Nullable HostGroup group) {
    String mark = UUID.randomUUID().toString();
    // In a session of its own: what it does to its process group, or reads from a terminal, must
    // not be the server's.
    List<String> apart = new ArrayList<>(List.of("setsid"));
    apart.addAll(group == null ? command : group.command(command));
    var builder = new ProcessBuilder(apart).directory(folder.toFile());
    builder.environment().clear();
    builder.environment().putAll(environment);
    builder.environment().put(MARK, mark);
    builder.redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")));
    try {
      return new HostProcess(builder.start(), group, mark, maxOutput);
    } catch (IOException e) {
      if (group != null) {
        group.close();
      }
      throw new SandboxException(
          ErrorCode.INVALID_INPUT, "the command cannot be started: " + e.getMessage(), e);
    }
  }

  /** Waits for its end, at most this long. */
  Ended await(Duration limit) throws InterruptedException {
    long begun = System.nanoTime();
    boolean timedOut = !process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
    if (!timedOut) {
      // What it left running may hold the streams; what it wrote itself is there at once.
      stdout.await(LAST_WORDS);
      stderr.await(Duration.ofMillis(1));
    }
    kill();
    int code = process.waitFor();
    stdout.await(LAST_WORDS);
    stderr.await(LAST_WORDS);
    Duration took = Duration.ofNanos(System.nanoTime() - begun);
    return new Ended(
        timedOut ? SIGNALLED + 9 : code, stdout.bytes(), stderr.bytes(), timedOut, cut(), took);
  }

  private boolean cut() {
    return stdout.cut || stderr.cut;
  }

  @SuppressWarnings("ArrayRecordComponent") // made for one reader
  record Ended(
      int code, byte[] stdout, byte[] stderr, boolean timedOut, boolean cut, Duration duration) {}

  /** Kills it with all that it has started. */
  @Override
  public void close() {
    kill();
    stdout.close();
    stderr.close();
    if (group != null) {
      group.close();
    }
  }

  private void kill() {
    if (group != null) {
      try {
        group.kill();
      } catch (IOException e) {
        LOG.warn("the control group of a command on the host cannot be killed", e);
      }
    }
    Set<ProcessHandle> known = new HashSet<>();
    // Until nobody is left: one that is being killed may have forked a moment before.
    for (int i = 0; i < MAX_SWEEPS; i++) {
      process.descendants().forEach(known::add);
      known.add(process.toHandle());
      known.addAll(marked());
      known.removeIf(one -> !one.isAlive());
      if (known.isEmpty()) {
        break;
      }
      known.forEach(ProcessHandle::destroyForcibly);
      await(known);
    }
    known.removeIf(one -> !one.isAlive());
    if (!known.isEmpty()) {
      LOG.error("processes of a command on the host cannot be killed: {}", known);
    }
  }

  private static void await(Set<ProcessHandle> some) {
    for (ProcessHandle one : some) {
      try {
        one.onExit().orTimeout(100, TimeUnit.MILLISECONDS).join();
      } catch (CompletionException e) {
        // Not dead yet, as when it waits for a disk: the next sweep looks again.
        LOG.debug("process {} takes its time to end", one.pid());
      }
    }
  }

  /** Whoever has the mark of this command, wherever its parents went. */
  private Set<ProcessHandle> marked() {
    var found = new HashSet<ProcessHandle>();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
      for (Path one : all) {
        long pid = Long.parseLong(one.getFileName().toString());
        if (pid != ProcessHandle.current().pid() && carries(one)) {
          ProcessHandle.of(pid).ifPresent(found::add);
        }
      }
    } catch (IOException | DirectoryIteratorException e) {
      LOG.warn("what a command on the host left running cannot be looked for", e);
    }
    return found;
  }

  private boolean carries(Path process) {
    try (InputStream in = Files.newInputStream(process.resolve("environ"))) {
      byte[] environment = in.readNBytes(1 << 20);
      for (int from = 0; from + mark.length <= environment.length; ) {
        int end = from;
        while (end < environment.length && environment[end] != 0) {
          end++;
        }
        if (Arrays.equals(environment, from, end, mark, 0, mark.length)) {
          return true;
        }
        from = end + 1;
      }
      return false;
    } catch (IOException e) {
      // Gone, or another user's, which nothing of ours becomes without being allowed to.
      return false;
    }
  }

  /** One stream: read to its end, kept to its limit. */
  private static final class Output {
    private final InputStream in;
    private final byte[] kept;
    private final Thread reader;
    private int count;
    private volatile boolean cut;

    Output(InputStream in, int max) {
      this.in = in;
      this.kept = new byte[max];
      this.reader = Thread.ofVirtual().name("host-output").start(this::read);
    }

    private void read() {
      byte[] piece = new byte[8192];
      try {
        for (int n; (n = in.read(piece)) >= 0; ) {
          keep(piece, n);
        }
      } catch (IOException e) {
        // Closed under us at the end of the command's time: what came is what there is.
        LOG.debug("a stream of a command on the host ended: {}", e.getMessage());
      }
    }

    private synchronized void keep(byte[] piece, int length) {
      int room = Math.min(length, kept.length - count);
      System.arraycopy(piece, 0, kept, count, room);
      count += room;
      cut |= room < length;
    }

    synchronized byte[] bytes() {
      return Arrays.copyOf(kept, count);
    }

    void await(Duration patience) throws InterruptedException {
      reader.join(patience);
    }

    void close() {
      try {
        in.close();
      } catch (IOException e) {
        LOG.debug("a stream of a command on the host cannot be closed: {}", e.getMessage());
      }
    }
  }
}
