package dev.carrel.engine.docker;

import dev.carrel.engine.host.ControlGroup;
import dev.carrel.engine.host.Gvisor;
import dev.carrel.engine.host.ProcPaths;
import dev.carrel.engine.host.RootTree;
import dev.carrel.engine.host.Settled;
import dev.carrel.spi.Limits;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What the daemon is told of one machine.
 *
 * @param runtime by the daemon's name for it
 * @param base the host's number for the id 0 inside; null: ids are the runtime's
 * @param egress the proxy's socket; null: no way out
 * @param onVolume whether /workspace comes from outside when the container runs
 * @param recursive whether the daemon can make a mount and all below it read-only
 * @param allowMissing what the guest may find itself unable to apply
 */
record ContainerRequest(
    MachineFolder folder,
    String runtime,
    String image,
    RootTree root,
    EtcFiles etc,
    Path lib,
    Limits limits,
    @Nullable Integer base,
    @Nullable Path egress,
    boolean onVolume,
    boolean recursive,
    Map<String, String> labels,
    Set<String> allowMissing) {
  private static final int CODE = 1000;

  /** For a map of ids of its own; the guest has all capabilities in there, and gives them up. */
  private static final List<String> TO_MAP_IDS = List.of("SETUID", "SETGID");

  /** What the guest gives up by itself but for changing to the sandbox's user and ending it. */
  private static final List<String> WITHOUT_IDS = List.of("SETUID", "SETGID", "KILL", "SETPCAP");

  Map<String, Object> json() {
    var request = new LinkedHashMap<String, Object>();
    request.put("Image", image);
    request.put("Hostname", folder.id().value());
    request.put("User", "0:0");
    request.put("WorkingDir", "/");
    // A name without a value is taken out of what the daemon adds by itself.
    request.put("Env", List.of("PATH=/usr/local/bin:/usr/bin:/bin", "HOSTNAME"));
    request.put("Entrypoint", command());
    request.put("Cmd", List.of());
    request.put("Labels", labels);
    request.put("HostConfig", hostConfig());
    return request;
  }

  private List<String> command() {
    var command = new ArrayList<String>();
    command.addAll(List.of(RootTree.LIB + "/guest", "init", "--name", folder.id().value()));
    command.addAll(List.of("--socket", RootTree.GUEST + "/guest.sock"));
    command.addAll(List.of("--confine", RootTree.GUEST + "/report"));
    if (!allowMissing.isEmpty()) {
      command.addAll(List.of("--allow-missing", String.join(",", allowMissing)));
    }
    if (egress != null) {
      command.addAll(List.of("--egress", RootTree.EGRESS + "/" + egress.getFileName()));
    }
    if (base != null) {
      command.addAll(List.of("--ids", base.toString()));
    }
    if (onVolume) {
      command.addAll(List.of("--hold", "1"));
    }
    command.addAll(List.of("--uid", Integer.toString(CODE), "--gid", Integer.toString(CODE)));
    return command;
  }

  private Map<String, Object> hostConfig() {
    var config = new LinkedHashMap<String, Object>();
    config.put("Runtime", runtime);
    config.put("NetworkMode", "none");
    config.put("IpcMode", "none"); // a namespace of its own; /dev/shm is ours
    config.put("CgroupnsMode", "private");
    // The guest takes ids of its own, where a daemon that remaps has the same for all containers.
    config.put("UsernsMode", "host");
    config.put("ReadonlyRootfs", true);
    config.put("CapDrop", List.of("ALL"));
    config.put("CapAdd", base != null ? TO_MAP_IDS : WITHOUT_IDS);
    // The daemon's own list of calls would refuse the ids; before anything foreign runs, the guest
    // puts its own list on, which is shorter.
    config.put("SecurityOpt", List.of("no-new-privileges", "seccomp=unconfined"));
    config.put("MaskedPaths", Stream.concat(ProcPaths.MASKED.stream(), Stream.of("/sys")).toList());
    config.put("ReadonlyPaths", ProcPaths.READ_ONLY);
    config.put("RestartPolicy", Map.of("Name", "no"));
    config.put(
        "LogConfig",
        Map.of("Type", "json-file", "Config", Map.of("max-size", "64k", "max-file", "1")));
    config.put(
        "Ulimits",
        List.of(
            limit("nofile", limits.openFiles()),
            // Not 0: with that, a piped core_pattern has root run a program for each crash.
            limit("core", 1),
            limit("msgqueue", 64 << 10),
            limit("nice", 0),
            limit("rtprio", 0),
            // Counted for who made the user namespace, which is the host's root.
            limit("sigpending", 1024),
            limit("memlock", 8 << 20)));
    config.put("Tmpfs", memory());
    config.put("Mounts", mounts());
    config.putAll(resources(limits, folder.kind()));
    return config;
  }

  /** The limits that can be changed while it runs, as the daemon calls them. */
  static Map<String, Object> resources(Limits limits, Kind kind) {
    boolean gvisor = kind == Kind.GVISOR;
    long memory = limits.memory().bytes() + (gvisor ? Gvisor.OVERHEAD : 0);
    return Map.of(
        "Memory",
        memory,
        "MemorySwap",
        memory,
        "PidsLimit",
        gvisor ? Gvisor.threads(limits.pids()) : limits.pids(),
        "CpuPeriod",
        ControlGroup.period(),
        "CpuQuota",
        ControlGroup.quota(limits.cpus()));
  }

  private static Map<String, Object> limit(String name, long value) {
    return Map.of("Name", name, "Soft", value, "Hard", value);
  }

  private Map<String, String> memory() {
    var folders = new LinkedHashMap<String, String>();
    folders.put("/tmp", options(Settled.temporary(limits, onVolume), "exec,mode=1777"));
    folders.put("/dev/shm", options(Settled.shared(limits, onVolume), "noexec,mode=1777"));
    if (!onVolume) {
      int owner = (base == null ? 0 : base) + CODE;
      String own = "exec,mode=0755,uid=%d,gid=%d".formatted(owner, owner);
      folders.put("/workspace", options(limits.disk().bytes(), own));
    }
    return folders;
  }

  private String options(long bytes, String more) {
    // gVisor counts no inodes, and refuses to be told to.
    String inodes = folder.kind() == Kind.GVISOR ? "" : ",nr_inodes=" + Settled.inodes(bytes);
    return "rw,nosuid,nodev,size=" + bytes + inodes + "," + more;
  }

  private List<Map<String, Object>> mounts() {
    var mounts = new ArrayList<Map<String, Object>>();
    for (RootTree.Bind bind : root.binds()) {
      if (bind.target().equals("/etc") && etc.overlay().isPresent()) {
        mounts.add(overlay(etc.overlay().get()));
      } else {
        mounts.add(bind(bind.source(), bind.target(), true));
      }
    }
    etc.binds().forEach(bind -> mounts.add(bind(bind.source(), bind.target(), true)));
    mounts.add(bind(lib, RootTree.LIB, true));
    mounts.add(bind(folder.socket().getParent(), RootTree.GUEST, false));
    if (egress != null) {
      mounts.add(bind(egress.getParent(), RootTree.EGRESS, true));
    }
    return mounts;
  }

  private Map<String, Object> bind(@Nullable Path source, String target, boolean readOnly) {
    var options = new LinkedHashMap<String, Object>();
    options.put("Propagation", "rprivate");
    if (recursive && readOnly) {
      options.put("ReadOnlyForceRecursive", true);
    } else {
      // Only the topmost would be read-only: so those below it are left out.
      options.put("NonRecursive", true);
    }
    return Map.of(
        "Type",
        "bind",
        "Source",
        String.valueOf(source),
        "Target",
        target,
        "ReadOnly",
        readOnly,
        "BindOptions",
        options);
  }

  /** Read-only by itself: a daemon refuses to be told so of a volume without a name. */
  private static Map<String, Object> overlay(String layers) {
    Map<String, String> options =
        Map.of("type", "overlay", "device", "overlay", "o", "ro,lowerdir=" + layers);
    return Map.of(
        "Type",
        "volume",
        "Target",
        "/etc",
        "VolumeOptions",
        Map.of("NoCopy", true, "DriverConfig", Map.of("Name", "local", "Options", options)));
  }
}
