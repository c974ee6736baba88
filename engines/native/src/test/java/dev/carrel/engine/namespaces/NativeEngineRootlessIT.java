package dev.carrel.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.testkit.OrdinaryUser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The contract as an ordinary user, on a bare host and on one that was prepared for it. */
final class NativeEngineRootlessIT {
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
        user.run(contract("uid-range,own-guest-uid,memory-limit,pids-limit,cpu-limit,freezer"));

    assertAllPassed(output);
  }

  @Test
  void whatIsMissingIsRefusedUnlessItIsExcused() throws Exception {
    String output = user.run(contract("own-guest-uid,memory-limit,pids-limit,cpu-limit"));

    assertThat(output)
        .contains("uid-range cannot be applied: not root")
        .contains("freezer cannot be applied: freezer: no right to make control groups")
        .contains("\n0 passed");
  }

  /** Subordinate ids and control groups given to the user: then nothing at all may be missing. */
  @Test
  void holdsInFullWithSubordinateIdsAndDelegatedControlGroups() throws Exception {
    List<Path> groups = makeControlGroups();
    try {
      var join = new StringBuilder();
      groups.forEach(group -> join.append("echo $$ > ").append(group).append("/tasks\n"));

      assertAllPassed(user.run(user.withSubordinateIds(contract(""), join.toString())));
    } finally {
      for (Path group : groups) {
        Files.deleteIfExists(group.resolve("carrel/zygotes"));
        Files.deleteIfExists(group.resolve("carrel"));
        Files.delete(group);
      }
    }
  }

  private static void assertAllPassed(String output) {
    OrdinaryUser.assertAllPassed(output, LEAST_TESTS);
  }

  private static List<String> contract(String allowMissing) {
    return user.suite(OrdinaryUserContract.class, allowMissing);
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
