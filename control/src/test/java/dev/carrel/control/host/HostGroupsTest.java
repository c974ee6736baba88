package dev.carrel.control.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class HostGroupsTest {
  private static final List<String> FIRST =
      List.of(
          "30 25 0:26 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory",
          "31 25 0:27 / /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids",
          "32 25 0:28 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw");
  private static final List<String> SECOND =
      List.of("32 25 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw", "a line of nonsense");

  @Test
  void groupsOfTheFirstVersionAreMadeBelowTheServersOwn() {
    assertThat(
            HostGroups.read(FIRST, List.of("4:memory:/service/one", "8:pids:/", "0::/service/one")))
        .contains(
            new HostGroups(
                Path.of("/sys/fs/cgroup/memory/service/one"),
                Path.of("/sys/fs/cgroup/pids"),
                false));
  }

  @Test
  void groupsOfTheSecondVersionAreMadeBesideTheServersOwn() {
    Path slice = Path.of("/sys/fs/cgroup/system.slice");
    assertThat(HostGroups.read(SECOND, List.of("0::/system.slice/carrel.service")))
        .contains(new HostGroups(slice, slice, true));
    Path top = Path.of("/sys/fs/cgroup");
    assertThat(HostGroups.read(SECOND, List.of("0::/"))).contains(new HostGroups(top, top, true));
  }

  @Test
  void aHostWithoutThemHasNone() {
    assertThat(HostGroups.read(List.of(), List.of("0::/"))).isEmpty();
    assertThat(HostGroups.read(FIRST.subList(0, 1), List.of("4:memory:/"))).isEmpty();
  }
}
