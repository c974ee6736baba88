package dev.carrel.e2e.security;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import dev.carrel.e2e.Need;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Cases B: nothing inside reaches the host. */
@ExtendWith(Carrel.class)
class BoundaryIT {
  private static Box box;

  @BeforeAll
  static void create(Api api) {
    box = api.create("{}");
  }

  @AfterAll
  static void delete() {
    box.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"user", "pid", "net", "mnt", "ipc", "uts", "cgroup"})
  void b01EveryNamespaceIsItsOwn(String namespace) throws IOException {
    if (Carrel.OWN_KERNEL) {
      String kernel = Files.readString(Path.of("/proc/sys/kernel/version")).strip();
      assertThat(box.exec("uname -v").get("stdout").asText()).isNotBlank().doesNotContain(kernel);
      return;
    }
    String outside = Files.readSymbolicLink(Path.of("/proc/self/ns", namespace)).toString();
    String inside = box.exec("readlink /proc/self/ns/" + namespace).get("stdout").asText().strip();
    assertThat(inside).startsWith(namespace + ":[").isNotEqualTo(outside);
  }

  @Test
  void b01NoCapabilityIsHeldOrCanBeGained() {
    Map<String, String> status = status(box.exec("cat /proc/self/status").get("stdout").asText());
    var sets = new ArrayList<>(List.of("CapInh", "CapPrm", "CapEff", "CapBnd"));
    if (!Carrel.OWN_KERNEL || status.containsKey("CapAmb")) {
      sets.add("CapAmb");
    }
    assertThat(sets)
        .allSatisfy(set -> assertThat(status.get(set)).as(set).isEqualTo("0000000000000000"));
    assertThat(status).containsEntry("Seccomp", "2");
    if (!Carrel.OWN_KERNEL || status.containsKey("NoNewPrivs")) {
      assertThat(status).containsEntry("NoNewPrivs", "1");
    }
    assertThat(box.exec("id -u").get("stdout").asText().strip()).isEqualTo("1000");
  }

  @Test
  void b03NoEngineSocketIsVisible() {
    String find = "find / -path /proc -prune -o -type s -print 2>/dev/null";
    String bind = "import socket; socket.socket(socket.AF_UNIX).bind('/tmp/own')";
    List<String> found =
        box.exec("/usr/bin/python3 -c \"%s\"; %s; rm /tmp/own".formatted(bind, find))
            .get("stdout")
            .asText()
            .lines()
            .collect(Collectors.toCollection(ArrayList::new));
    assertThat(found.remove("/tmp/own")).as("positive control").isTrue();
    assertThat(found)
        .as("the proxy's own alone")
        .allMatch(socket -> socket.startsWith("/run/carrel/egress/"));
  }

  @Test
  void b04b05b06b12b13ForbiddenSystemCallsFail() throws IOException {
    box.put("syscalls.py", resource("syscalls.py"));
    String output = box.exec("/usr/bin/python3 /workspace/syscalls.py").get("stdout").asText();
    Map<String, String> results =
        output
            .lines()
            .map(line -> line.split(" ", 2))
            .collect(Collectors.toMap(l -> l[0], l -> l[1]));
    assertThat(results.remove("getppid")).as("positive control").isEqualTo("OK");
    assertThat(results).hasSizeGreaterThan(30);
    assertThat(results)
        .allSatisfy((call, result) -> assertThat(result).as(call).isIn("EPERM", "ENOSYS"));
  }

  @Test
  void b07SetuidProgramsGainNothing() {
    String effective =
        box.exec(
                "for p in su mount passwd newuidmap; do f=$(command -v $p) && [ -u $f ] && echo $f;"
                    + " done; id -u; grep NoNewPrivs /proc/self/status")
            .get("stdout")
            .asText();
    assertThat(effective).contains("1000");
    if (Carrel.OWN_KERNEL) {
      // It shows neither; that they gain nothing is seen in what they then can do.
      assertThat(box.exec("su -c id root < /dev/null").get("stdout").asText())
          .doesNotContain("uid=0");
      assertThat(box.exec("mount -t tmpfs x /tmp").get("exit_code").asInt()).isNotZero();
      return;
    }
    assertThat(effective).contains("NoNewPrivs:\t1");
  }

  @Test
  void b07MountsRefuseToRunProgramsAsTheirOwner() {
    Need.NOSUID_MOUNTS.require();
    assertThat(
            box.exec("findmnt -rno OPTIONS /usr || grep ' /usr ' /proc/self/mounts")
                .get("stdout")
                .asText())
        .contains("nosuid");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
            "/proc/sys/vm/drop_caches",
        "/proc/sys/kernel/hostname", "/proc/1/oom_score_adj", "/etc/passwd", "/usr/bin/env"
      })
  void b08HostTunablesAndSystemFilesCannotBeWritten(String file) {
    assertThat(box.exec("echo x >> " + file).get("exit_code").asInt()).as(file).isNotZero();
    if (!Carrel.OWN_KERNEL && file.startsWith("/proc/sys/")) {
      // Who tries it is not root, and would be refused without this too.
      assertThat(box.shell("grep -c ' /proc/sys ro' /proc/self/mountinfo")).startsWith("1\n");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/kallsyms", "/proc/kmsg"})
  void b08KernelMemoryAndSymbolsAreMasked(String file) {
    assertThat(
            box.exec("head -c 64 " + file + " 2>/dev/null | tr -d '\\0' | wc -c")
                .get("stdout")
                .asText()
                .strip())
        .isEqualTo("0");
    if (!Carrel.OWN_KERNEL) {
      // Most of them only root may read: that nothing came says nothing of a mask.
      assertThat(box.shell("[ ! -e %s ] || [ -c %s ]".formatted(file, file))).isEqualTo("exit 0");
    }
  }

  @Test
  void b10NoDescriptorOfTheHostIsInherited() {
    String descriptors =
        box.exec("cd /proc/self/fd && for f in *; do readlink $f; done").get("stdout").asText();
    assertThat(descriptors.lines())
        .isNotEmpty()
        .allMatch(
            target ->
                target.startsWith("pipe:[")
                    || target.equals("/dev/null")
                    || target.startsWith("/proc/"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"root/etc/hostname", "environ", "mem", "maps", "fd/0", "exe", "cwd/usr"})
  void b15TheGuestItselfCannotBeRead(String entry) {
    if (Carrel.OWN_KERNEL && List.of("environ", "maps", "fd/0").contains(entry)) {
      // gVisor shows these to everybody; what they hold is nothing of the host's.
      assertThat(box.exec("readlink /proc/1/fd/0").get("stdout").asText()).isEqualTo("/dev/null\n");
      assertThat(box.exec("tr '\\0' '\\n' < /proc/1/environ").get("stdout").asText().lines())
          .allMatch(line -> line.startsWith("PATH=") || line.startsWith("HOME="));
      return;
    }
    String refused = box.shell("LC_ALL=C head -c 1 /proc/1/" + entry);
    assertThat(refused).as(entry).endsWith("exit 1");
    if (!Carrel.OWN_KERNEL) {
      // Other reasons to fail there are, also for one's own.
      assertThat(refused).as(entry).contains("Permission denied");
    }
  }

  @Test
  void b15AFileOnTheHostIsNowhereToBeFound() throws IOException {
    Path canary = Files.createTempFile("carrel-canary", ".txt");
    try {
      String name = canary.getFileName().toString();
      box.exec("touch /workspace/control-" + name);
      String found = box.exec("find / -name '*" + name + "' 2>/dev/null").get("stdout").asText();
      assertThat(found.strip()).isEqualTo("/workspace/control-" + name);
      // All that is there is another name for the sandbox's own files.
      String all = "find /root /home /var/lib /srv -mindepth 1 -printf '%p -> %l\\n' 2>/dev/null";
      assertThat(box.exec(all).get("stdout").asText()).isEqualTo("/home/user -> /workspace\n");
    } finally {
      Files.delete(canary);
    }
  }

  @Test
  void b16NeighboursShareNoSocketsMemoryOrProcesses(Api api) {
    String listen =
        """
        import socket, time
        s = socket.socket(socket.AF_UNIX)
        s.bind('\\0carrel-e2e')
        s.listen()
        open('/dev/shm/mine', 'w').write('x')
        print('up', flush=True)
        time.sleep(30)
        """;
    String reach =
        """
        import socket
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect('\\0carrel-e2e')
            print('connected')
        except OSError:
            print('refused')
        """;
    try (Box neighbour = api.create("{}")) {
      box.put("listen.py", listen);
      box.exec(
          "nohup /usr/bin/python3 /workspace/listen.py >/workspace/up 2>&1 & until grep -q up"
              + " /workspace/up; do sleep 0.05; done");
      box.put("reach.py", reach);
      neighbour.put("reach.py", reach);
      assertThat(box.shell("/usr/bin/python3 /workspace/reach.py"))
          .as("positive control")
          .contains("connected");
      assertThat(neighbour.shell("/usr/bin/python3 /workspace/reach.py")).contains("refused");
      assertThat(neighbour.shell("ls /dev/shm; ls /proc | grep -c '^[0-9]'"))
          .doesNotContain("mine");
    }
  }

  @Test
  void b17OnlyHarmlessDevicesExist() {
    String devices =
        box.exec(
                "for f in /dev/* /dev/pts/* /dev/shm/*; do [ -L $f ] || if [ -c $f ] || [ -b $f ];"
                    + " then echo $f; fi; done")
            .get("stdout")
            .asText();
    assertThat(devices.lines())
        .contains("/dev/null", "/dev/urandom")
        .allMatch(
            d ->
                d.matches("/dev/(null|zero|full|random|urandom|tty|ptmx|pts/ptmx|pts/[0-9]+)")
                    || (Carrel.OWN_KERNEL && d.equals("/dev/fuse")));
  }

  @ParameterizedTest
  @ValueSource(
      ints = {40 /* VSOCK */, 17 /* PACKET */, 38 /* ALG */, 31 /* BLUETOOTH */, 15 /* KEY */})
  void n08SocketFamiliesThatPassTheNetworkNamespaceAreRefused(int family) {
    // A type that there is not: a kernel that looks at the call at all says that it is invalid,
    // whichever families it knows.
    String probe = "/usr/bin/python3 -c 'import socket\nsocket.socket(%d, 12)' 2>&1 | tail -1";
    if (!Carrel.OWN_KERNEL) { // gVisor's knows none of these families, and looks at them first
      assertThat(box.exec(probe.formatted(2)).get("stdout").asText()).contains("Invalid argument");
    }
    assertThat(box.exec(probe.formatted(family)).get("stdout").asText())
        .containsAnyOf("Operation not permitted", "not supported");
  }

  @Test
  void n08ThereIsNoRouteOut() {
    String probe =
        "import socket,errno\n"
            + "s=socket.socket();s.settimeout(2)\n"
            + "try:\n"
            + "  s.connect(('192.0.2.1',80))\n"
            + "except OSError as e:print(errno.errorcode.get(e.errno))\n"
            + "l=socket.create_server(('127.0.0.1',0));c=socket.create_connection(l.getsockname());print('loopback"
            + " ok')";
    box.put("route.py", probe);
    assertThat(box.shell("/usr/bin/python3 /workspace/route.py"))
        .containsAnyOf("ENETUNREACH", "EHOSTUNREACH")
        .contains("loopback ok");
    assertThat(box.shell("cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '"))
        .startsWith("lo\n")
        .endsWith("exit 0");
  }

  private static Map<String, String> status(String text) {
    return text.lines()
        .map(line -> line.split(":\\s*", 2))
        .filter(parts -> parts.length == 2)
        .collect(
            Collectors.toMap(
                parts -> parts[0], parts -> parts[1].strip(), (first, second) -> first));
  }

  private static String resource(String name) throws IOException {
    try (InputStream in = Objects.requireNonNull(BoundaryIT.class.getResourceAsStream(name))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
