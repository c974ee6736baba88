package dev.carrel.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.testkit.Leftovers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The contract as an ordinary user, on a bare host and on one that was prepared for it. */
final class NativeEngineRootlessIT {
  private static final Pattern SUMMARY =
      Pattern.compile("(\\d+) passed, (\\d+) failed, (\\d+) skipped");
  private static final int LEAST_TESTS = 30;

  private static OrdinaryUser user;

  @BeforeAll
  static void copyForUser() throws IOException {
    user = new OrdinaryUser();
  }

  @AfterAll
  static void removeCopies() {
    user.close();
  }

  @Test
  void holdsWithTheUsersOneIdAndNoControlGroups() throws Exception {
    String output =
        user.run(
            user.contract("uid-range,own-guest-uid,memory-limit,pids-limit,cpu-limit,freezer"));

    assertAllPassed(output);
  }

  @Test
  void whatIsMissingIsRefusedUnlessItIsExcused() throws Exception {
    String output = user.run(user.contract("own-guest-uid,memory-limit,pids-limit,cpu-limit"));

    assertThat(output)
        .contains("uid-range cannot be applied: not root")
        .contains("freezer cannot be applied: freezer: no right to make control groups")
        .contains("\n0 passed");
  }

  /** Subordinate ids and control groups given to the user: then nothing at all may be missing. */
  @Test
  void holdsInFullWithSubordinateIdsAndDelegatedControlGroups() throws Exception {
    Path tables = Files.createTempDirectory("carrel-tables-");
    String entry = "carrel-test:x:" + OrdinaryUser.ID + ":" + OrdinaryUser.ID + "::/tmp:/bin/sh\n";
    String passwd = Files.readString(Path.of("/etc/passwd")) + entry;
    String range = "carrel-test:3000000:65536\n";
    List<Path> groups = makeControlGroups();
    try {
      var script = new StringBuilder("set -e\nchmod 755 " + tables + "\n");
      // In a mount namespace of its own: the host's tables stay as they are.
      for (var table : Map.of("passwd", passwd, "subuid", range, "subgid", range).entrySet()) {
        Path file = Files.writeString(tables.resolve(table.getKey()), table.getValue());
        script.append("chmod 644 " + file + "\nmount --bind " + file + " /etc/" + table.getKey());
        script.append('\n');
      }
      groups.forEach(group -> script.append("echo $$ > ").append(group).append("/tasks\n"));
      script.append("exec \"$@\"\n");
      var command = new ArrayList<String>();
      command.addAll(List.of("unshare", "-m", "sh", "-c", script.toString(), "sh"));
      command.addAll(user.contract(""));

      assertAllPassed(user.run(command));
    } finally {
      Leftovers.delete(tables);
      for (Path group : groups) {
        Files.deleteIfExists(group.resolve("carrel"));
        Files.delete(group);
      }
    }
  }

  private static void assertAllPassed(String output) {
    var summary = SUMMARY.matcher(output);
    assertThat(summary.find()).as(output).isTrue();
    assertThat(Integer.parseInt(summary.group(1))).as(output).isGreaterThan(LEAST_TESTS);
    assertThat(summary.group(2)).as(output).isEqualTo("0");
    assertThat(summary.group(3)).as(output).isEqualTo("0");
  }

  /** One below our own in each hierarchy, owned by the user. */
  private static List<Path> makeControlGroups() throws IOException {
    var groups = new ArrayList<Path>();
    for (String line : Files.readAllLines(Path.of("/proc/self/cgroup"))) {
      String[] parts = line.split(":", 3);
      if (List.of("memory", "pids", "cpu", "cpuacct", "freezer").contains(parts[1])) {
        Path own = Path.of("/sys/fs/cgroup", parts[1], parts[2]);
        Path group =
            Files.createDirectory(own.resolve("carrel-it-" + ProcessHandle.current().pid()));
        groups.add(group);
        Files.setAttribute(group, "unix:uid", OrdinaryUser.ID);
        try (var files = Files.list(group)) {
          for (Path file : files.toList()) {
            Files.setAttribute(file, "unix:uid", OrdinaryUser.ID);
          }
        }
      }
    }
    return groups;
  }
}
