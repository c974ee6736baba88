package dev.carrel.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.testkit.Eventually;
import dev.carrel.engine.testkit.Finished;
import dev.carrel.engine.testkit.Leftovers;
import dev.carrel.engine.testkit.MachineTests;
import dev.carrel.engine.testkit.Profile;
import dev.carrel.guest.ExecInfo;
import dev.carrel.guest.Guest;
import dev.carrel.guest.SignalScope;
import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.Preload;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.WarmSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Kernels that a zygote forks into running sandboxes, beside those that the guest starts. */
@Timeout(120)
final class ForkIT extends MachineTests {
  private static final int KILL = 9;
  private static final int MAX_FORKS = 10;
  private static final Duration SOON = Duration.ofSeconds(10);

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new NativeEngineProvider()
        .create(
            new EngineSettings(
                settings.runDirectory(),
                settings.volumeDirectory(),
                settings.libDirectory(),
                settings.allowMissing(),
                new WarmSettings(MAX_FORKS, Duration.ofHours(1), Duration.ofMinutes(1)),
                settings.daemon()));
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  @Test
  void forkedKernelIsAnExecLikeAnyOther() {
    Machine machine = start();
    Guest guest = Guest.of(machine);
    WarmKernel kernel = WarmKernel.in(machine, Preload.PLAIN);

    assertThat(kernel.run("import os; print(os.getuid(), os.getcwd(), os.environ['LANG'])"))
        .isEqualTo("1000 /workspace C.UTF-8\n");
    kernel.run("kept = 41");
    Eventually.holds("its pid is told", SOON, () -> info(guest, kernel.exec()).pid() > 1);
    kernel.close();
    WarmKernel again = joined(machine, kernel.exec());
    assertThat(again.run("print(kept + 1)")).as("it goes on without a listener").isEqualTo("42\n");

    // An orphan in a session of its own is still of its tree.
    again.run("import subprocess; subprocess.run('setsid sleep 1000 & echo', shell=True)");
    assertThat(shell(machine, "pgrep -c sleep").stdout()).isEqualTo("1\n");
    guest.signal(kernel.exec(), KILL, SignalScope.TREE);
    Finished end = Finished.follow(again.session());
    assertThat(end.exit().signal()).isEqualTo(KILL);
    assertThat(shell(machine, "pgrep -c sleep").stdout()).isEqualTo("0\n");
    assertThat(guest.list()).isEmpty();
  }

  @Test
  void preloadedKernelWorksWithWhatItHasLoaded() {
    Machine machine = start();
    try (WarmKernel kernel = WarmKernel.in(machine, Preload.DATA)) {
      assertThat(kernel.run("import sys; print('pandas' in sys.modules, 'IPython' in sys.modules)"))
          .isEqualTo("True True\n");
      assertThat(
              kernel.run(
                  """
                  import numpy, pandas
                  frame = pandas.DataFrame({'a': numpy.arange(1000), 'b': [1, 2] * 500})
                  print(frame.groupby('b').a.sum().tolist(), numpy.dot(numpy.eye(3), numpy.ones(3)))
                  """))
          .isEqualTo("[249500, 250000] [1. 1. 1.]\n");
      assertThat(kernel.run("!echo $HOME-out\n%pwd")).isEqualTo("-out\n");
      assertThat(
              kernel.run(
                  """
                  import matplotlib, matplotlib.pyplot as plt
                  plt.plot([1, 2]); plt.savefig('figure.png')
                  import os; print(os.path.getsize('figure.png') > 1000, matplotlib.get_cachedir()[:5])
                  """))
          .isEqualTo("True /tmp/\n");
    }
  }

  @Test
  void exitStatusIsTheKernelsOwn() {
    Machine machine = start();
    try (WarmKernel kernel = WarmKernel.in(machine, Preload.PLAIN)) {
      kernel.run("import threading, os; threading.Timer(0.05, os._exit, (7,)).start()");
      assertThat(Finished.follow(kernel.session()).code()).isEqualTo(7);
    }
  }

  /** Everything that the hardening tests hold a command to. */
  @Test
  void forkedKernelIsConfinedAsACommandIs() throws Exception {
    Machine machine = start();
    Profile command = Profile.ofSandbox(machine);
    try (WarmKernel kernel = WarmKernel.in(machine, Preload.PLAIN)) {
      Map<String, String> forked =
          new TreeMap<>(Profile.parse(kernel.run(Profile.program())).lines());
      // Its own channel to the host, which a command of its kind has too.
      assertThat(forked.remove("fds")).isEqualTo("602,603");
      Map<String, String> commands = new TreeMap<>(command.lines());
      commands.remove("fds");
      assertThat(forked).containsExactlyEntriesOf(commands);
      assertThat(
              kernel.run(
                  """
                  score = open('/proc/self/oom_score_adj').read().strip()
                  print(score, os.stat('/proc/self').st_uid, '%04o' % os.umask(0o22))
                  """))
          .as("first to go when memory runs out, owner of its /proc, umask")
          .isEqualTo("500 1000 0022\n");
      assertThat(
              kernel.run(
                  """
                  keeper, guest = (open('/proc/%d/oom_score_adj' % pid).read() for pid in (os.getppid(), 1))
                  print(keeper == guest, guest != '500\\n')
                  """))
          .as("the keeper stays as long as the guest does")
          .isEqualTo("True True\n");
    }
  }

  /** It is no copy of the process that it comes of, but has its memory. */
  @Test
  void forkedKernelIsWhatItsLibcTakesItFor() {
    Machine machine = start();
    try (WarmKernel kernel = WarmKernel.in(machine, Preload.PLAIN)) {
      assertThat(
              kernel.run(
                  """
                  import ctypes, os, signal
                  libc, heard = ctypes.CDLL(None), []
                  signal.signal(signal.SIGUSR1, lambda *_: heard.append(1))
                  getattr(libc, 'raise')(signal.SIGUSR1)
                  mutex = (ctypes.c_int * 16)()
                  libc.pthread_mutex_lock(mutex)
                  processors = sorted(os.sched_getaffinity(0))
                  there = []
                  for processor in processors:
                      os.sched_setaffinity(0, {processor})
                      there.append(libc.sched_getcpu())
                  os.sched_setaffinity(0, processors)
                  print(len(heard), mutex[2] == os.getpid(), there == processors)
                  """))
          .as("the thread that signals itself, owns a lock, and where it runs")
          .isEqualTo("1 True True\n");
      assertThat(
              kernel.run(
                  """
                  import faulthandler, os, signal, threading
                  def end(how):
                      child = os.fork()
                      if child == 0:
                          how()
                      return os.waitpid(child, 0)[1] & 127
                  thread = threading.Thread(target=lambda: print('a thread'))
                  thread.start()
                  thread.join()
                  print(end(lambda: (faulthandler.disable(), os.abort())) == signal.SIGABRT, end(lambda: os._exit(0)))
                  """))
          .isEqualTo("a thread\nTrue 0\n");
      assertThat(
              kernel.run(
                  "import sys; sys.setrecursionlimit(10**5); f = lambda n: n and f(n - 1); print(f(5000))"))
          .as("its stack grows")
          .isEqualTo("0\n");
    }
  }

  /** What a profile cannot tell: from inside each group looks like the root of all. */
  @Test
  void forkedKernelIsInTheControlGroupsOfItsSandbox() throws Exception {
    var limits = new Limits(DataSize.ofMebibytes(96), 1, 64, DataSize.ofMebibytes(16), 1024);
    Machine machine = start(withLimits(limits));
    try (WarmKernel kernel = WarmKernel.in(machine, Preload.PLAIN)) {
      long guest = ((NativeMachine) machine).pid();
      List<Long> inside = processesBeside(guest);
      assertThat(inside).as("guest, keeper and kernel").hasSize(3);
      for (long pid : inside) {
        assertThat(groups(pid)).as("process %s of %s", pid, inside).isEqualTo(groups(guest));
      }
      assertThat(groups(zygote().pid())).as("positive control").isNotEqualTo(groups(guest));

      String hungry = "['/usr/bin/python3', '-c', 'bytearray(300 << 20)']";
      assertThat(
              kernel.run(
                  "import subprocess; print(subprocess.run(%s).returncode)".formatted(hungry)))
          .isEqualTo("-9\n");
      assertThat(machine.usage().oomKills()).isEqualTo(1);
    }
  }

  /** What a kernel has inherited is counted where its interpreter was, and outlives it there. */
  @Test
  void warmInterpretersHaveABoundTogetherAndWhatOutlivesThemToo() throws Exception {
    Machine machine = start();
    try (WarmKernel kernel = WarmKernel.in(machine, Preload.PLAIN)) {
      ProcessHandle zygote = zygote();
      Path template = memoryGroup(zygote.pid());
      Path together = template.resolveSibling("");
      assertThat(together).hasFileName("zygotes");
      assertThat(memory(together, "memory.limit_in_bytes", "memory.max"))
          .isPositive()
          .isLessThanOrEqualTo(
              memory(together.resolveSibling(""), "memory.limit_in_bytes", "memory.max") / 4);

      zygote.destroyForcibly();
      Eventually.holds("its template is gone", SOON, () -> Files.notExists(template));
      assertThat(kernel.run("print('on')")).isEqualTo("on\n");
      assertThat(memory(together, "memory.usage_in_bytes", "memory.current"))
          .isGreaterThan(1 << 20);
    }
  }

  /** The channel of a kernel has its place among the descriptors that there may be. */
  @Test
  void fewOpenFilesAreEnoughForAKernel() throws Exception {
    for (int files : List.of(64, 256, 1024)) {
      var limits = new Limits(DataSize.ofMebibytes(96), 1, 64, DataSize.ofMebibytes(16), files);
      Machine machine = start(withLimits(limits));
      try (WarmKernel kernel = WarmKernel.in(machine, Preload.PLAIN)) {
        Profile profile = Profile.parse(kernel.run(Profile.program()));
        assertThat(profile.lines())
            .containsEntry("limit.NOFILE", Integer.toString(files))
            .containsEntry(
                "fds", files == 1024 ? "602,603" : "%d,%d".formatted(files - 2, files - 1));
      }
    }
  }

  /** Each of the processes on its way there may be the one that is refused. */
  @Test
  void forkThatFindsNoRoomForItsProcessesEndsAsAWhole() {
    final int room = 24;
    final int own = 2; // the guest and the keeper of what fills the room
    WarmKernel.in(start(), Preload.PLAIN).close();
    var ready = new ArrayList<Boolean>();
    for (int free = 0; free < 5; free++) {
      Machine machine =
          start(
              withLimits(
                  new Limits(DataSize.ofMebibytes(96), 1, room, DataSize.ofMebibytes(16), 1024)));
      shell(
          machine,
          "for i in $(seq %d); do sleep 1000 >/dev/null 2>&1 & done".formatted(room - own - free));
      long filled = machine.usage().pids();
      ready.add(WarmKernel.once(machine, Preload.PLAIN).isPresent());
      if (!ready.getLast()) {
        Eventually.holds("nothing of it stays", SOON, () -> machine.usage().pids() == filled);
      }
    }
    assertThat(ready).contains(false).endsWith(true);
    WarmKernel.in(start(), Preload.PLAIN).close();
  }

  @Test
  void signalsPassBetweenForkedKernelsAndCommands() {
    Machine machine = start();
    try (WarmKernel kernel = WarmKernel.in(machine, Preload.PLAIN)) {
      kernel.run("import subprocess, os; child = subprocess.Popen(['sleep', '1000'])");
      assertThat(shell(machine, "pkill sleep; echo $?").stdout()).isEqualTo("0\n");
      assertThat(kernel.run("print(child.wait())")).isEqualTo("-15\n");
      assertThat(shell(machine, "sleep 1000 > /dev/null 2>&1 & echo on").stdout())
          .isEqualTo("on\n");
      assertThat(kernel.run("print(os.system('pkill sleep'))")).isEqualTo("0\n");
      assertThat(kernel.run("try: os.kill(1, 9)\nexcept PermissionError: print('refused')"))
          .isEqualTo("refused\n");
    }
  }

  @Test
  void nobodyEntersAnIsolatedMachine() {
    Machine open = start();
    WarmKernel.in(open, Preload.PLAIN).close();
    MachineSpec spec = spec();
    Machine isolated =
        start(new MachineSpec(spec.image(), spec.limits(), null, null, true, Rootfs.READ_ONLY));

    assertThat(isolated.fork(WarmKernel.request(ExecId.random(), Preload.PLAIN))).isFalse();
    assertThat(open.fork(WarmKernel.request(ExecId.random(), Preload.PLAIN)))
        .as("positive control")
        .isTrue();
    assertThat(shell(isolated, "cat /proc/self/status | grep -c Seccomp_filters:.1").stdout())
        .isEqualTo("1\n");
  }

  @Test
  void kernelAndSandboxOutliveTheServerAndTheZygoteDoesNot() {
    Machine machine = start();
    WarmKernel kernel = WarmKernel.in(machine, Preload.PLAIN);
    long server = serverPid();
    ProcessHandle zygote = zygote();

    ProcessHandle.of(server).orElseThrow().destroyForcibly();

    Eventually.holds("the zygote ends", SOON, () -> !zygote.isAlive());
    assertThat(kernel.run("print('on')")).isEqualTo("on\n");
    assertThat(WarmKernel.in(machine, Preload.PLAIN).run("print('new')")).isEqualTo("new\n");
    Guest.of(machine).signal(kernel.exec(), KILL, SignalScope.TREE);
    assertThat(Finished.follow(kernel.session()).exit().signal()).isEqualTo(KILL);
  }

  @Test
  void lostZygoteIsReplaced() {
    Machine machine = start();
    WarmKernel.in(machine, Preload.PLAIN).close();
    ProcessHandle lost = zygote();
    lost.destroyForcibly();
    Eventually.holds("it is gone", SOON, () -> !lost.isAlive());

    assertThat(WarmKernel.afterLoss(machine, Preload.PLAIN).run("print(1)")).isEqualTo("1\n");
  }

  @Test
  void zygoteIsReplacedAfterSoManyForks() {
    Machine machine = start();
    WarmKernel.in(machine, Preload.PLAIN).close();
    ProcessHandle first = zygote();
    for (int i = 1; i < MAX_FORKS; i++) {
      WarmKernel.in(machine, Preload.PLAIN).close();
    }

    Eventually.holds("another one takes over", SOON, () -> !first.isAlive());
    assertThat(zygote().pid()).isNotEqualTo(first.pid());
    assertThat(machine.fork(WarmKernel.request(ExecId.random(), Preload.PLAIN)))
        .as("there is one all the time")
        .isTrue();
  }

  /** How long it takes is up to whoever has the sandbox; the zygote is everybody's. */
  @Test
  void forkThatGetsNoProcessorTakesItsTimeAndNobodysZygote() {
    WarmKernel.in(start(), Preload.PLAIN).close();
    ProcessHandle zygote = zygote();
    var limits = new Limits(DataSize.ofMebibytes(96), 0.02, 64, DataSize.ofMebibytes(16), 1024);
    Machine slow = start(withLimits(limits));
    long begin = System.nanoTime();
    shell(
        slow,
        "for i in $(seq 20); do timeout 6 sh -c 'while :; do :; done' > /dev/null 2>&1 & done");

    WarmKernel kernel = WarmKernel.in(slow, Preload.PLAIN);

    assertThat(Duration.ofNanos(System.nanoTime() - begin))
        .as("positive control: longer than a zygote may take for a request")
        .isGreaterThan(Duration.ofSeconds(2));
    assertThat(kernel.run("print(1)")).isEqualTo("1\n");
    assertThat(zygote().pid()).isEqualTo(zygote.pid());
  }

  @Test
  void destroyDoesNotWaitForKernels() {
    Machine machine = start();
    WarmKernel kernel = WarmKernel.in(machine, Preload.PLAIN);
    kernel.run("import subprocess; subprocess.Popen(['sleep', '1000'])");

    machine.destroy();

    assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
  }

  @Test
  void requestsOverlapWithDestroys() {
    WarmKernel.in(start(), Preload.PLAIN).close();
    for (int i = 0; i < 20; i++) {
      Machine machine = start();
      Thread asking =
          Thread.ofPlatform()
              .start(() -> machine.fork(WarmKernel.request(ExecId.random(), Preload.PLAIN)));
      machine.destroy();
      join(asking);
      assertThat(Leftovers.of(machine.id().value(), runDirectory())).isEmpty();
    }
    assertThat(WarmKernel.in(start(), Preload.PLAIN).run("print(1)")).isEqualTo("1\n");
  }

  /** What is opened ahead keeps namespaces: it must not outlive a sandbox, or lead into another. */
  @Test
  void waysIntoTheSandboxThatWasMadeLastAreOpenUntilTheyAreUsedOrItEnds() {
    WarmKernel.in(start(), Preload.PLAIN).close();
    Machine earlier = start();
    String earlierSpace = space(earlier);
    Eventually.holds("the ways are open", SOON, () -> serverHolds(earlierSpace));
    Machine later = start();
    String laterSpace = space(later);
    Eventually.holds("those of the next", SOON, () -> serverHolds(laterSpace));
    assertThat(serverHolds(earlierSpace)).isFalse();

    try (WarmKernel kernel = WarmKernel.in(later, Preload.PLAIN)) {
      assertThat(serverHolds(laterSpace)).isFalse();
      String where = "import os; print(os.readlink('/proc/self/ns/pid'))";
      assertThat(kernel.run(where)).isEqualTo(laterSpace + "\n");
      assertThat(WarmKernel.in(earlier, Preload.PLAIN).run(where)).isEqualTo(earlierSpace + "\n");
    }

    Machine last = start();
    String lastSpace = space(last);
    Eventually.holds("the ways are open", SOON, () -> serverHolds(lastSpace));
    last.destroy();
    assertThat(serverHolds(lastSpace)).isFalse();
    assertThat(Leftovers.of(last.id().value(), runDirectory())).isEmpty();

    Machine ending = start();
    String endingSpace = space(ending);
    Eventually.holds("the ways are open", SOON, () -> serverHolds(endingSpace));
    ProcessHandle.of(((NativeMachine) ending).pid()).orElseThrow().destroyForcibly();
    Eventually.holds("they are closed", SOON, () -> !serverHolds(endingSpace));
  }

  private boolean serverHolds(String namespace) {
    try (Stream<Path> open = Files.list(Path.of("/proc/" + serverPid() + "/fd"))) {
      return open.anyMatch(file -> link(file).equals(namespace));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Those of the host that are in the same pid namespace. */
  private static List<Long> processesBeside(long pid) {
    String space = space(pid);
    assertThat(space).isNotEmpty();
    return ProcessHandle.allProcesses()
        .map(ProcessHandle::pid)
        .filter(other -> space(other).equals(space))
        .toList();
  }

  private static String space(Machine machine) {
    return space(((NativeMachine) machine).pid());
  }

  private static String space(long pid) {
    return link(Path.of("/proc/" + pid + "/ns/pid"));
  }

  private static String link(Path file) {
    try {
      return Files.readSymbolicLink(file).toString();
    } catch (IOException e) {
      return ""; // it ended, or was closed, while we looked
    }
  }

  private static List<String> groups(long pid) throws IOException {
    return Files.readAllLines(Path.of("/proc/" + pid + "/cgroup"));
  }

  /**
   * The folder of the group in which its memory is counted, with control groups of either version.
   */
  private static Path memoryGroup(long pid) throws IOException {
    Path root = Path.of("/sys/fs/cgroup");
    for (String line : groups(pid)) {
      String[] parts = line.split(":", 3);
      if (parts[1].equals("memory")) {
        return root.resolve("memory" + parts[2]);
      }
    }
    return root.resolve(groups(pid).getLast().split(":", 3)[2].substring(1));
  }

  private static long memory(Path group, String first, String second) throws IOException {
    Path file = group.resolve(first);
    return Long.parseLong(
        Files.readString(Files.exists(file) ? file : group.resolve(second)).strip());
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static WarmKernel joined(Machine machine, ExecId exec) {
    Guest guest = Guest.of(machine);
    Eventually.holds("nobody is attached", SOON, () -> !info(guest, exec).attached());
    return WarmKernel.rejoin(machine, exec);
  }

  private static ExecInfo info(Guest guest, ExecId exec) {
    return guest.list().stream().filter(info -> info.id().equals(exec)).findFirst().orElseThrow();
  }

  private static Finished shell(Machine machine, String line) {
    return Finished.run(Guest.of(machine), Command.shell(line));
  }

  private long serverPid() {
    return Leftovers.parents(" --run " + runDirectory() + " ").getFirst();
  }

  /** The one of this test's server. What it forked passes here for a moment and goes on. */
  private ProcessHandle zygote() {
    var found = new ArrayList<ProcessHandle>();
    Eventually.holds(
        "there is one zygote",
        SOON,
        () -> {
          List<Long> named = Leftovers.processes("python/zygote.py ");
          found.clear();
          ProcessHandle.of(serverPid())
              .orElseThrow()
              .children()
              .flatMap(ProcessHandle::children)
              .filter(process -> named.contains(process.pid()))
              .forEach(found::add);
          return found.size() == 1;
        });
    return found.getFirst();
  }
}
