package dev.carrel.engine.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.guest.Guest;
import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/**
 * Each line of hardening as code inside a sandbox sees it. The same program also runs on the bare
 * host, which shows that it can tell, and in {@code runc} as it comes, which must not be stricter
 * anywhere.
 */
@Timeout(120)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class HardeningContract {
  private static final List<String> NAMESPACES =
      List.of("cgroup", "ipc", "mnt", "net", "pid", "user", "uts");

  /** Opens what another process has open, by its name in /proc. */
  private static final String OPEN_ALL =
      "for f in /proc/%s/fd/*; do (exec 9< $f) 2> /dev/null && echo $f $(readlink $f); done";

  private static final String OPEN_TERMINALS =
      """
      import os
      opened = []
      try:
          while True:
              opened.append(os.open("/dev/ptmx", os.O_RDWR))
      except OSError as error:
          print(len(opened), os.strerror(error.errno))
      """;

  /** In all mounts, after it has made one itself. */
  private static final String FIND_SOCKETS =
      """
      import os, socket
      with socket.socket(socket.AF_UNIX) as own:
          own.bind("/tmp/own.sock")
          os.system("find / -path /proc -prune -o -type s -print 2> /dev/null")
      os.unlink("/tmp/own.sock")
      """;

  private static final Limits LIMITS =
      new Limits(DataSize.ofMebibytes(256), 1, 64, DataSize.ofMebibytes(32), 512);

  private Path run = Path.of("");
  private Path bundle = Path.of("");
  private @Nullable Engine engine;
  private @Nullable Machine machine;
  private Profile host = new Profile(Map.of());
  private Profile runc = new Profile(Map.of());
  private Profile sandbox = new Profile(Map.of());

  protected abstract Engine openEngine(EngineSettings settings);

  /** Measures that this host may lack. */
  protected Set<String> allowMissing() {
    return Set.of();
  }

  /** Whether code inside sees which ids of the host it has. */
  protected boolean showsIds() {
    return !ownKernel();
  }

  /** Whether machines have a kernel of their own, which hides what the host's would show. */
  protected boolean ownKernel() {
    return false;
  }

  /** Whether it may have only so many terminals; a kernel of its own has its own. */
  protected boolean boundsTerminals() {
    return !ownKernel();
  }

  /** The mounts that may be written to as mounts; who may write is tried. */
  protected Set<String> writableMounts() {
    return Set.of("/proc", "/tmp", "/workspace");
  }

  /** Whether every mount says that programs do not run as their owner; no program does anyway. */
  protected boolean refusesOwners() {
    return true;
  }

  /** What is in /dev. */
  protected Set<String> devices() {
    return Set.of(
        "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty",
        "urandom", "zero");
  }

  @BeforeAll
  void look() throws Exception {
    run = Files.createTempDirectory("carrel-");
    bundle = Files.createTempDirectory("carrel-runc-");
    var lib = Path.of(System.getProperty("carrel.lib", ""));
    engine = openEngine(new EngineSettings(run, run.resolve("volumes"), lib, allowMissing()));
    VolumeId volume = engine.volumes().isPresent() ? VolumeId.random() : null;
    var spec = new MachineSpec(new RootImage.Host(), LIMITS, null, volume);
    machine = engine.start(SandboxId.random(), spec);
    host = Profile.ofHost();
    runc = Profile.ofRunc(bundle);
    sandbox = Profile.ofSandbox(machine);
  }

  @AfterAll
  void leaveNothing() {
    if (machine != null) {
      machine.destroy();
    }
    if (engine != null) {
      engine.close();
    }
    Leftovers.delete(run);
    Leftovers.delete(bundle);
  }

  @Test
  void everyNamespaceIsItsOwn() {
    if (ownKernel()) {
      assertThat(sandbox.at("kernel")).isNotEqualTo(host.at("kernel"));
      return;
    }
    for (String name : NAMESPACES) {
      assertThat(sandbox.at("ns." + name)).as(name).isNotEqualTo(host.at("ns." + name));
    }
    assertThat(host.at("ns.net")).as("positive control").isEqualTo(namespaceOfThisProcess("net"));
  }

  @Test
  void noCapabilitiesAndNoWayToGainAny() {
    for (String set : capabilitySets()) {
      assertThat(sandbox.capabilities(set)).as(set).isZero();
    }
    assertThat(host.capabilities("Eff")).as("positive control").isPositive();
    if (shows("status.NoNewPrivs")) {
      assertThat(sandbox.at("status.NoNewPrivs")).isEqualTo("1");
    }
    // Where no keeper can adopt, each command's processes are known by a group of nobody's.
    assertThat(sandbox.at("status.Groups")).matches(ownKernel() ? "none|5[789]\\d{3}" : "none");
  }

  @Test
  void refusedCallsNeverReachTheKernelAndHonestOnesDo() {
    assertThat(sandbox.at("status.Seccomp")).isEqualTo("2");
    assertThat(sandbox.under("call.")).allSatisfy((name, answer) -> assertRefused(name, answer));
    assertThat(sandbox.under("argument."))
        .allSatisfy((name, answer) -> assertRefused(name, answer));
    assertThat(sandbox.at("call.clone3"))
        .as("so that libc falls back to clone")
        .isEqualTo("Function_not_implemented");
    assertThat(sandbox.at("call.call-of-the-future")).isEqualTo("Function_not_implemented");
    Map<String, String> needed = sandbox.under("need.");
    if (ownKernel()) {
      needed.remove("personality-query"); // gVisor knows no other personality and none to ask for
    }
    assertThat(needed).allSatisfy((name, answer) -> assertThat(answer).as(name).isEqualTo("ok"));
    assertThat(host.under("call.").values().stream().filter(Profile::reached).count())
        .as("positive control: on the host these calls look at their arguments")
        .isGreaterThan(30);
  }

  @Test
  void onlyOrdinarySocketFamiliesExist() {
    Map<String, String> families = sandbox.under("socket.");
    for (String allowed : List.of("unix", "inet", "inet6")) {
      assertThat(families.remove(allowed)).as(allowed).isEqualTo("ok");
    }
    assertThat(families)
        .allSatisfy((name, answer) -> assertThat(answer).as(name).isNotEqualTo("ok"));
    assertThat(host.at("socket.packet")).as("positive control").isEqualTo("ok");
    assertThat(sandbox.at("links")).isEqualTo("lo");
  }

  /** What has no use inside has no way to load a module of the host's either. */
  @Test
  void onlyOrdinaryPairsAndProtocolsExist() {
    assertThat(sandbox.under("pair."))
        .containsEntry("unix", "ok")
        .containsEntry("vsock", "Address_family_not_supported_by_protocol");
    assertThat(sandbox.under("protocol."))
        .containsEntry("tcp", "ok")
        .containsEntry("udp", "ok")
        .containsEntry("udplite", "Protocol_not_supported");
  }

  /** Those that the host has laid by are for others, and no limit of the sandbox's counts them. */
  @Test
  void nobodyTakesHugePagesOfTheHost() {
    assertThat(sandbox.under("huge."))
        .containsEntry("mmap", "Cannot_allocate_memory")
        .containsEntry("memfd_create", "Invalid_argument");
    assertThat(host.under("huge."))
        .as("positive control: on the host these calls look at their arguments")
        .containsEntry("mmap", "Invalid_argument")
        .containsEntry("memfd_create", "Bad_address");
  }

  /** A second wall: all that it refuses something else refuses too, so that it is counted. */
  @Test
  void oneRulesetOfLandlockIsInForce() {
    int most = Integer.parseInt(host.at("landlock-layers"));
    if (ownKernel() || most == 0) {
      return; // where there is none, the machine says so
    }
    assertThat(sandbox.at("landlock-layers")).isEqualTo(String.valueOf(most - 1));
    assertThat(runc.at("landlock-layers")).as("positive control").isEqualTo(String.valueOf(most));
  }

  /** Whether a page was merged can be told by time, and so what machines on the host hold. */
  @Test
  void nobodyHasItsMemoryMerged() {
    assertThat(sandbox.under("merged."))
        .containsEntry("madvise", "Invalid_argument")
        .containsEntry("prctl", "Invalid_argument");
    if (Files.exists(Path.of("/sys/kernel/mm/ksm"))) {
      assertThat(host.under("merged."))
          .as("positive control: this kernel merges")
          .containsEntry("madvise", "ok")
          .containsEntry("prctl", "ok");
    }
  }

  @Test
  void procTellsNothingOfTheHostAndItsKnobsCannotBeTurned() {
    assertThat(sandbox.under("proc."))
        .allSatisfy((name, state) -> assertThat(state).as(name).isNotEqualTo("full"));
    assertThat(host.at("proc.kallsyms")).as("positive control").isEqualTo("full");
    Map<String, String> knobs = sandbox.under("knob.");
    assertThat(knobs.remove("self/oom_score_adj")).as("what is its own").isEqualTo("writable");
    assertThat(knobs)
        .allSatisfy((name, answer) -> assertThat(answer).as(name).isNotEqualTo("writable"));
    assertThat(host.at("knob.sys/vm/overcommit_memory"))
        .as("positive control")
        .isEqualTo("writable");
  }

  @Test
  void nothingOfTheHostsFilesIsThere() {
    assertThat(sandbox.under("host."))
        .allSatisfy((path, state) -> assertThat(state).as(path).isNotEqualTo("full"));
    assertThat(host.at("host./etc/shadow")).as("positive control").isEqualTo("full");
    assertThat(sandbox.at("own-socket")).as("positive control of sockets").isEqualTo("full");
    assertThat(sandbox.under("dev.").keySet()).containsExactlyInAnyOrderElementsOf(devices());
  }

  /** Wherever it would lie: a runtime's or a daemon's leads out. */
  @Test
  void noSocketOfTheHostIsThere() {
    Finished sockets =
        Finished.run(Guest.of(machine()), Command.of("/usr/bin/python3", "-c", FIND_SOCKETS));
    assertThat(sockets.stdout()).as("its own alone").isEqualTo("/tmp/own.sock\n");
  }

  @Test
  void onlyTheSandboxsOwnPlacesCanBeWritten() {
    Map<String, String> mounts = sandbox.under("mount.");
    var writable = new TreeSet<String>();
    mounts.forEach(
        (place, options) -> {
          assertThat(!holdsPrograms(place) || !refusesOwners() || options.contains("nosuid"))
              .as(place)
              .isTrue();
          if (List.of(options.split(",", -1)).contains("rw") && !place.startsWith("/dev/")) {
            writable.add(place);
          }
        });
    // The masks in /proc are the null device, which is why they count as writable.
    writable.removeIf(place -> place.startsWith("/proc/") && !place.startsWith("/proc/sys"));
    assertThat(writable).containsExactlyInAnyOrderElementsOf(writableMounts());
    if (!ownKernel()) {
      assertThat(mounts.get("/workspace")).contains("nodev");
    }
    Finished tries =
        shell(
            "touch /x /usr/x /etc/x /opt/carrel/x /dev/x /proc/x /run/x 2>/dev/null;"
                + " ls /x /usr/x /etc/x /opt/carrel/x /dev/x /run/x 2>/dev/null;"
                + " touch /workspace/a /tmp/b /dev/shm/c && echo writes");
    assertThat(tries.stdout()).isEqualTo("writes\n");
  }

  @Test
  void noDescriptorOfTheHostIsOpen() {
    assertThat(sandbox.at("fds")).isEqualTo("none");
    Finished guest = shell("ls /proc/1/fd 2>&1; cat /proc/1/environ 2>&1; cat /proc/1/mem 2>&1");
    if (ownKernel()) {
      // It lets everybody list them, and read an environment that says nothing.
      assertThat(guest.stdout()).endsWith("cat: /proc/1/mem: Permission denied\n");
      assertThat(shell("tr '\\0' '\\n' < /proc/1/environ").stdout().lines())
          .allMatch(line -> line.startsWith("PATH=") || line.startsWith("HOME="));
      assertThat(shell("readlink /proc/1/fd/*").stdout()).doesNotContain(run.toString());
      assertThat(shell(OPEN_ALL.formatted("1")).stdout().lines())
          .allMatch(line -> line.endsWith(" /dev/null"));
    } else {
      assertThat(guest.stdout().lines().toList()).hasSize(3).allMatch(l -> l.contains("denied"));
    }
    String another = // not before it has become one
        "sleep 9 & for i in $(seq 500); do grep -q sleep /proc/$!/comm && break; sleep 0.01; done; ";
    assertThat(shell(another + OPEN_ALL.formatted("$!")).stdout())
        .as("positive control: of its own it can")
        .isNotEmpty();
    assertThat(shell("ls /proc/self/fd").stdout()).as("positive control").contains("0");
    assertThat(shell("tr '\\0' ' ' < /proc/1/cmdline").stdout())
        .contains("guest ")
        .contains(machine().id().value())
        .doesNotContain(run.toString());
  }

  @Test
  void idsAreOfNoUserOfTheHostAndOfNoOtherSandbox() throws Exception {
    if (ownKernel()) {
      assertThat(sandbox.at("kernel")).as("whose ids they are").isNotEqualTo(host.at("kernel"));
      return;
    }
    if (showsIds()) {
      assertThat(Long.parseLong(sandbox.at("uid-map"))).isGreaterThan(1 << 30);
    }
    Machine second =
        engine()
            .start(SandboxId.random(), new MachineSpec(new RootImage.Host(), LIMITS, null, null));
    try {
      assertThat(ids(second)).isNotEqualTo(ids(machine()));
      String map = Finished.shell(Guest.of(second), "cat /proc/self/uid_map").stdout();
      assertThat(map.strip().split("\\s+", -1)[1].equals(sandbox.at("uid-map")))
          .isEqualTo(!showsIds());
    } finally {
      second.destroy();
    }
  }

  @Test
  void limitsAreInForce() {
    assertThat(sandbox.limit("NOFILE")).isEqualTo(LIMITS.openFiles());
    assertThat(sandbox.limit("SIGPENDING")).isLessThanOrEqualTo(1024);
    assertThat(sandbox.limit("MEMLOCK")).isLessThanOrEqualTo(8 << 20);
    Finished full =
        shell("dd if=/dev/zero of=/workspace/big bs=1M count=64 2>&1; rm /workspace/big");
    assertThat(full.stdout()).contains("No space left");
    if (ownKernel()) {
      return; // empty files take its memory, whose limit ends the machine
    }
    Finished inodes =
        shell("cd /tmp && seq 200000 | xargs touch 2>&1 | tail -1; ls | wc -l; rm -rf /tmp/*");
    assertThat(inodes.stdout()).contains("No space left");
  }

  @Test
  void nobodyInsideRunsAheadOfOthers() {
    Map<String, String> tries = sandbox.under("ahead.");
    if (ownKernel()) {
      tries.remove("setpriority"); // gVisor notes the number and tells nobody
    }
    assertThat(tries)
        .containsKey("sched_setscheduler")
        .allSatisfy((name, answer) -> assertThat(answer).as(name).isNotEqualTo("ok"));
    assertThat(host.under("ahead."))
        .as("positive control")
        .containsEntry("sched_setscheduler", "ok")
        .containsEntry("setpriority", "ok");
  }

  /**
   * Where core_pattern begins with a pipe, the host's root runs a program for the crash of whoever
   * has another limit than 1; with that no file is written either.
   */
  @Test
  void crashesAreNoMatterOfTheHosts() {
    assertThat(sandbox.limit("CORE")).isEqualTo(1);
    assertThat(sandbox.under("core."))
        .as("it cannot be lowered, and who tries is told that it was")
        .containsEntry("setrlimit", "ok,1,1")
        .containsEntry("prlimit64", "ok,1,1")
        .containsEntry("prlimit64-far", "ok,1,1");
    assertThat(host.under("core."))
        .as("positive control")
        .containsEntry("setrlimit", "ok,0,0")
        .containsEntry("prlimit64", "ok,0,0")
        .containsEntry("prlimit64-far", "ok,0,0");
  }

  /** The kernel has a few thousand for all sandboxes together. */
  @Test
  void terminalsOfOneSandboxAreFew() {
    if (!boundsTerminals()) {
      return;
    }
    Finished opened =
        Finished.run(Guest.of(machine()), Command.of("/usr/bin/python3", "-c", OPEN_TERMINALS));
    assertThat(opened.stdout()).endsWith("No space left on device\n");
    assertThat(shell("script -qec 'echo on' /dev/null").stdout())
        .as("positive control: what is closed can be opened")
        .startsWith("on");
  }

  @Test
  void killingEverythingInsideDoesNotEndTheGuest() {
    Finished kills = shell("sleep 100 & kill -9 1; kill -9 -1; wait $!; echo $?");
    assertThat(kills.stdout()).as("positive control: its own it may kill").isEqualTo("137\n");
    assertThat(shell("echo on").stdout()).isEqualTo("on\n");
    assertThat(machine().death()).isEmpty();
  }

  /** Equal or stricter than runc's default configuration, line by line. */
  @Test
  void nothingIsWeakerThanInRunc() {
    var weaker = new ArrayList<String>();
    for (String name : ownKernel() ? List.<String>of() : NAMESPACES) {
      boolean theirs = !runc.at("ns." + name).equals(host.at("ns." + name));
      boolean ours = !sandbox.at("ns." + name).equals(host.at("ns." + name));
      note(weaker, "namespace " + name, ours || !theirs);
    }
    for (String set : capabilitySets()) {
      note(weaker, "Cap" + set, sandbox.capabilities(set) <= runc.capabilities(set));
    }
    note(weaker, "seccomp", sandbox.at("status.Seccomp").compareTo(runc.at("status.Seccomp")) >= 0);
    if (shows("status.NoNewPrivs")) {
      String theirs = runc.at("status.NoNewPrivs");
      note(weaker, "nnp", sandbox.at("status.NoNewPrivs").compareTo(theirs) >= 0);
    }
    compareCalls(weaker);
    for (String prefix : List.of("proc.", "host.")) {
      runc.under(prefix)
          .forEach(
              (key, theirs) ->
                  note(
                      weaker,
                      key,
                      !sandbox.at(prefix + key).equals("full") || theirs.equals("full")));
    }
    runc.under("knob.")
        .forEach(
            (key, theirs) ->
                note(
                    weaker,
                    key,
                    !sandbox.at("knob." + key).equals("writable") || theirs.equals("writable")));
    Map<String, String> devices = ownKernel() ? Map.of() : sandbox.under("dev.");
    devices.forEach(
        (name, kind) ->
            note(
                weaker,
                "device " + name,
                kind.equals("link") || runc.under("dev.").containsKey(name)));
    var limits = new ArrayList<>(List.of("NOFILE", "MEMLOCK", "MSGQUEUE", "RTPRIO", "NICE"));
    if (!ownKernel()) {
      limits.add("NPROC"); // one that counts no processes limits none
    }
    for (String limit : limits) {
      note(weaker, "limit " + limit, sandbox.limit(limit) <= runc.limit(limit));
    }
    assertThat(weaker).isEmpty();
  }

  private void compareCalls(List<String> weaker) {
    for (String prefix : List.of("call.", "argument.")) {
      runc.under(prefix)
          .forEach(
              (name, theirs) ->
                  note(
                      weaker,
                      name,
                      !Profile.reached(sandbox.at(prefix + name)) || Profile.reached(theirs)));
    }
    runc.under("socket.")
        .forEach(
            (name, theirs) ->
                note(
                    weaker,
                    "socket " + name,
                    !sandbox.at("socket." + name).equals("ok") || theirs.equals("ok")));
  }

  /** As the engine saw them from outside. */
  private static String ids(Machine machine) {
    return machine.isolation().measures().stream()
        .filter(measure -> measure.name().equals("uid-range") && measure.applied())
        .map(Isolation.Measure::detail)
        .findFirst()
        .orElseThrow();
  }

  private Engine engine() {
    if (engine == null) {
      throw new IllegalStateException("no test runs");
    }
    return engine;
  }

  private Machine machine() {
    if (machine == null) {
      throw new IllegalStateException("no test runs");
    }
    return machine;
  }

  /** One of its own may not show them all; what it does not show the engine does not claim. */
  private List<String> capabilitySets() {
    return List.of("Inh", "Prm", "Eff", "Bnd", "Amb").stream()
        .filter(set -> shows("status.Cap" + set))
        .toList();
  }

  private boolean shows(String key) {
    return !ownKernel() || sandbox.lines().containsKey(key);
  }

  /** A device, a mask in /proc and what a kernel of its own mounts: nothing to be executed. */
  private boolean holdsPrograms(String place) {
    boolean node = place.startsWith("/dev/") && !place.equals("/dev/shm");
    return !ownKernel() && !node && !place.startsWith("/proc/");
  }

  private static void note(List<String> weaker, String line, boolean holds) {
    if (!holds) {
      weaker.add(line);
    }
  }

  private static void assertRefused(String name, String answer) {
    assertThat(Profile.reached(answer)).as("%s: %s", name, answer).isFalse();
  }

  private Finished shell(String line) {
    return Finished.shell(Guest.of(machine()), line);
  }

  private static String namespaceOfThisProcess(String name) {
    try {
      return Files.readSymbolicLink(Path.of("/proc/self/ns", name)).toString();
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }
}
