package dev.carrel.engine.oci;

import dev.carrel.engine.host.ControlGroup;
import dev.carrel.engine.host.Gvisor;
import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.host.Json;
import dev.carrel.engine.host.ProcPaths;
import dev.carrel.engine.host.RootTree;
import dev.carrel.engine.host.Settled;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxId;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a runtime is told of one machine: its {@code config.json}. The paths of the machine's own
 * folders are those of the companion's stage, because the way to the real ones is closed to the ids
 * inside.
 *
 * @param binds what is put into its root, all read-only
 * @param ids who its ids are
 * @param egressSocket the name of the proxy's socket in its folder; null: no way out
 * @param onVolume whether /workspace is a volume on the stage
 * @param allowMissing what the guest may find itself unable to apply
 */
record Bundle(
    OciRuntime runtime,
    SandboxId id,
    List<RootTree.Bind> binds,
    Limits limits,
    IdMap ids,
    @Nullable String egressSocket,
    boolean onVolume,
    Rootfs rootfs,
    Set<String> allowMissing) {
  /**
   * Where the companion puts what the runtime binds; known to its mount namespace alone. Who is not
   * root makes no folder for it and covers one that every host has and no runtime looks at.
   */
  static final Path STAGE = Path.of(HostProcess.isRoot() ? "/run/carrel-stage" : "/sys/firmware");

  private static final String GROUPS = "/carrel-oci/";

  /** What the guest gives up by itself but for changing to the sandbox's user and ending it. */
  private static final List<String> CAPABILITIES =
      List.of("CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_SETPCAP");

  /**
   * With a writable root also what commands keep, and what takes the guest's own folder out of
   * sight: the last is given up before anybody else runs.
   */
  private static final List<String> OVERLAY_CAPABILITIES =
      List.of(
          "CAP_SETUID",
          "CAP_SETGID",
          "CAP_KILL",
          "CAP_SETPCAP",
          "CAP_CHOWN",
          "CAP_DAC_OVERRIDE",
          "CAP_FOWNER",
          "CAP_FSETID",
          "CAP_SYS_ADMIN");

  private static final int MAX_TERMINALS = 64;
  private static final DataSize RUN = DataSize.ofMebibytes(1);

  Bundle {
    binds = List.copyOf(binds);
    allowMissing = Set.copyOf(allowMissing);
  }

  private boolean overlay() {
    return rootfs == Rootfs.OVERLAY;
  }

  static String groupOf(SandboxId id) {
    return GROUPS + id;
  }

  String json() {
    var config = new LinkedHashMap<String, Object>();
    config.put("ociVersion", "1.0.2");
    config.put("hostname", id.value());
    config.put("root", Map.of("path", STAGE.resolve("root").toString(), "readonly", !overlay()));
    config.put("process", process());
    config.put("mounts", mounts());
    config.put("linux", linux());
    return Json.of(config);
  }

  private Map<String, Object> process() {
    var arguments = new ArrayList<String>();
    String program = overlay() ? RootTree.OWN + "/" + Stage.PROGRAM : RootTree.LIB + "/guest";
    arguments.addAll(List.of(program, "init", "--name", id.value()));
    arguments.addAll(List.of("--socket", RootTree.GUEST + "/guest.sock"));
    arguments.addAll(List.of("--confine", RootTree.GUEST + "/report"));
    if (!allowMissing.isEmpty()) {
      arguments.addAll(List.of("--allow-missing", String.join(",", allowMissing)));
    }
    if (egressSocket != null) {
      arguments.addAll(List.of("--egress", RootTree.EGRESS + "/" + egressSocket));
    }
    String code = overlay() ? "0" : "1000";
    arguments.addAll(List.of("--uid", code, "--gid", code));
    if (overlay()) {
      arguments.addAll(List.of("--overlay", "1"));
    }
    arguments.addAll(ids.guestOptions());
    List<String> capabilities = ids.capabilities(overlay() ? OVERLAY_CAPABILITIES : CAPABILITIES);
    return Map.of(
        "terminal",
        false,
        "user",
        Map.of("uid", 0, "gid", 0),
        "cwd",
        "/",
        "env",
        List.of("PATH=/usr/local/bin:/usr/bin:/bin"),
        "args",
        arguments,
        "noNewPrivileges",
        true,
        "capabilities",
        Map.of("bounding", capabilities, "permitted", capabilities, "effective", capabilities),
        "rlimits",
        rlimits());
  }

  private List<Map<String, Object>> rlimits() {
    var all = new ArrayList<Map<String, Object>>();
    all.add(rlimit("RLIMIT_NOFILE", limits.openFiles()));
    // Not 0: with that, a piped core_pattern of the host has root run a program for each crash.
    all.add(rlimit("RLIMIT_CORE", Math.min(1, HostProcess.most("core file size"))));
    all.add(rlimit("RLIMIT_MSGQUEUE", 64 << 10));
    all.add(rlimit("RLIMIT_NICE", 0));
    all.add(rlimit("RLIMIT_RTPRIO", 0));
    // Both are counted for whoever made the user namespace: for root, whose processes need some.
    // Nobody raises what he has less of: an ordinary user's runtime would fail.
    all.add(rlimit("RLIMIT_SIGPENDING", Math.min(1024, HostProcess.most("pending signals"))));
    all.add(rlimit("RLIMIT_MEMLOCK", Math.min(8 << 20, HostProcess.most("locked memory"))));
    if (!HostProcess.isRoot()) {
      all.add(rlimit("RLIMIT_NPROC", limits.pids())); // where no group counts processes
    }
    return all;
  }

  private static Map<String, Object> rlimit(String type, long value) {
    return Map.of("type", type, "hard", value, "soft", value);
  }

  private List<Map<String, Object>> mounts() {
    var mounts = new ArrayList<Map<String, Object>>();
    if (overlay()) {
      mounts.add(memory("/run", RUN.bytes(), "mode=0755"));
      mounts.add(readOnly(STAGE.resolve(Stage.OWN), true, RootTree.OWN));
    }
    for (RootTree.Bind bind : binds) {
      mounts.add(readOnly(bind.source(), Files.isDirectory(bind.source()), bind.target()));
    }
    mounts.add(readOnly(STAGE.resolve("lib"), true, RootTree.LIB));
    mounts.add(
        mount(
            RootTree.GUEST,
            "bind",
            STAGE.resolve("guest").toString(),
            "rbind",
            "rw",
            "noexec",
            "nosuid",
            "nodev"));
    if (egressSocket != null) {
      // Not to be opened by who is inside, and so nothing for options that want to see what is
      // below.
      mounts.add(readOnly(STAGE.resolve("egress"), false, RootTree.EGRESS));
    }
    mounts.add(mount("/proc", "proc", "proc", "nosuid", "nodev", "noexec"));
    mounts.add(devices());
    mounts.add(terminals());
    mounts.add(memory("/dev/shm", Settled.shared(limits, onVolume), "mode=1777", "noexec"));
    mounts.add(memory("/tmp", Settled.temporary(limits, onVolume), "mode=1777"));
    mounts.add(
        onVolume
            ? mount(
                "/workspace",
                "bind",
                STAGE.resolve("workspace").toString(),
                "rbind",
                "rw",
                "nosuid",
                "nodev")
            : workspace());
    return mounts;
  }

  private Map<String, Object> workspace() {
    var options = new ArrayList<>(ids.commandsOwn());
    options.add("mode=0755");
    return memory("/workspace", limits.disk().bytes(), options.toArray(String[]::new));
  }

  private Map<String, Object> terminals() {
    var options =
        new ArrayList<>(List.of("nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"));
    if (runtime != OciRuntime.RUNSC) {
      options.add("max=" + MAX_TERMINALS); // of the few that the kernel has for all sandboxes
    }
    options.addAll(ids.terminalGroup());
    return mount("/dev/pts", "devpts", "devpts", options.toArray(String[]::new));
  }

  /** Only root could write there. gVisor would not let anybody open a device for writing then. */
  private Map<String, Object> devices() {
    var options = new ArrayList<>(List.of("nosuid", "noexec", "mode=755", "size=64k"));
    if (overlay() && runtime != OciRuntime.RUNSC) {
      options.add("ro");
    }
    return mount("/dev", "tmpfs", "tmpfs", options.toArray(String[]::new));
  }

  private Map<String, Object> readOnly(Path source, boolean folder, String target) {
    // Mounts below it too, where the runtime knows how; gVisor's always are, and crun takes a file
    // for a folder that way.
    return runtime == OciRuntime.RUNSC || !folder
        ? mount(target, "bind", source.toString(), "rbind", "ro", "nosuid", "nodev")
        : mount(target, "bind", source.toString(), "rbind", "rro", "rnosuid", "rnodev");
  }

  private Map<String, Object> memory(String target, long bytes, String... more) {
    var options = new ArrayList<>(List.of("nosuid", "nodev", "size=" + bytes));
    if (runtime != OciRuntime.RUNSC) {
      options.add("nr_inodes=" + Settled.inodes(bytes));
    }
    options.addAll(List.of(more));
    return mount(target, "tmpfs", "tmpfs", options.toArray(String[]::new));
  }

  private static Map<String, Object> mount(
      String target, String type, String source, String... options) {
    return Map.of(
        "destination", target, "type", type, "source", source, "options", List.of(options));
  }

  private Map<String, Object> linux() {
    var linux = new LinkedHashMap<String, Object>();
    var namespaces = new ArrayList<>(List.of("pid", "network", "ipc", "uts", "mount"));
    List<Map<String, Object>> map = ids.mappings();
    if (!map.isEmpty()) {
      namespaces.add("user");
      linux.put("uidMappings", map);
      linux.put("gidMappings", map);
    }
    if (runtime != OciRuntime.RUNSC) {
      namespaces.add("cgroup");
    }
    linux.put("namespaces", namespaces.stream().map(type -> Map.of("type", type)).toList());
    if (HostProcess.isRoot()) {
      linux.put("cgroupsPath", groupOf(id));
      linux.put("resources", resources());
    }
    linux.put("maskedPaths", ProcPaths.MASKED);
    linux.put("readonlyPaths", ProcPaths.READ_ONLY);
    return linux;
  }

  private Map<String, Object> resources() {
    long memory = limits.memory().bytes() + (runtime == OciRuntime.RUNSC ? Gvisor.OVERHEAD : 0);
    long pids = runtime == OciRuntime.RUNSC ? Gvisor.threads(limits.pids()) : limits.pids();
    return Map.of(
        "devices",
        List.of(Map.of("allow", false, "access", "rwm")),
        "memory",
        Map.of("limit", memory, "swap", memory),
        "pids",
        Map.of("limit", pids),
        "cpu",
        Map.of("quota", ControlGroup.quota(limits.cpus()), "period", ControlGroup.period()));
  }
}
