package dev.carrel.engine.oci;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.testkit.OrdinaryUser;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The runtimes for a server that is an ordinary user's, with subordinate ids and without. gVisor
 * has no use for such ids, but what it meets with is the same.
 */
final class OciRootlessIT {
  /** No runtime makes a control group for an ordinary user. */
  private static final String GROUPS = "memory-limit,pids-limit,cpu-limit,freezer";

  private static final String GROUPS_AND_IDS = GROUPS + ",uid-range,own-guest-uid";
  private static final int CONTRACT = 51;
  private static final int IMAGES = 6;
  private static final int ATTACKS = 8;
  private static final int HARDENING = 12;

  private static OrdinaryUser user;

  @BeforeAll
  static void copyForUser() throws Exception {
    user = new OrdinaryUser();
    user.takeProfiles();
  }

  @AfterAll
  static void removeCopies() {
    user.close();
  }

  @ParameterizedTest
  @ValueSource(
      classes = {
        OrdinaryUserContract.Crun.class,
        OrdinaryUserContract.Runc.class,
        OrdinaryUserContract.Runsc.class
      })
  void contractHoldsWithSubordinateIds(Class<?> suite) throws Exception {
    withSubordinateIds(suite, CONTRACT);
  }

  @ParameterizedTest
  @ValueSource(classes = {OrdinaryUserContract.Crun.class, OrdinaryUserContract.Runc.class})
  void contractHoldsWithTheUsersOneId(Class<?> suite) throws Exception {
    withOneId(suite, CONTRACT);
  }

  @ParameterizedTest
  @ValueSource(
      classes = {
        OrdinaryUserAttacks.Crun.class,
        OrdinaryUserAttacks.Runc.class,
        OrdinaryUserAttacks.Runsc.class
      })
  void attacksFailWithSubordinateIdsAlsoIfTheUserHidesItsFiles(Class<?> suite) throws Exception {
    var command = user.withSubordinateIds(user.suite(suite, GROUPS), "umask 077\n");

    OrdinaryUser.assertAllPassed(user.run(command), ATTACKS);
  }

  @ParameterizedTest
  @ValueSource(classes = {OrdinaryUserAttacks.Crun.class, OrdinaryUserAttacks.Runc.class})
  void attacksFailWithTheUsersOneId(Class<?> suite) throws Exception {
    withOneId(suite, ATTACKS);
  }

  @ParameterizedTest
  @ValueSource(
      classes = {
        OrdinaryUserFolderImage.Crun.class,
        OrdinaryUserFolderImage.Runc.class,
        OrdinaryUserFolderImage.Runsc.class
      })
  void foldersAreRoots(Class<?> suite) throws Exception {
    withSubordinateIds(suite, IMAGES);
  }

  @ParameterizedTest
  @ValueSource(
      classes = {
        OrdinaryUserHardening.Crun.class,
        OrdinaryUserHardening.Runc.class,
        OrdinaryUserHardening.Runsc.class
      })
  void hardeningIsTheSame(Class<?> suite) throws Exception {
    withSubordinateIds(suite, HARDENING);
  }

  private static void withSubordinateIds(Class<?> suite, int tests) throws Exception {
    String output = user.run(user.withSubordinateIds(user.suite(suite, GROUPS), ""));

    OrdinaryUser.assertAllPassed(output, tests);
  }

  private static void withOneId(Class<?> suite, int tests) throws Exception {
    OrdinaryUser.assertAllPassed(user.run(user.suite(suite, GROUPS_AND_IDS)), tests);
  }

  @Test
  void whatIsMissingIsRefusedUnlessItIsExcused() throws Exception {
    String output = user.run(user.suite(OrdinaryUserContract.Crun.class, "cpu-limit,freezer"));

    assertThat(output)
        .contains("uid-range cannot be applied: not root")
        .contains("memory-limit cannot be applied: the server is not root")
        .contains("\n0 passed");
  }

  /** Where gVisor never has a limit of processes, it still has one of the machine: as root. */
  @Test
  void gvisorWithoutAnyLimitIsRefusedToo() throws Exception {
    String output = user.run(user.suite(OrdinaryUserContract.Runsc.class, "cpu-limit,freezer"));

    assertThat(output)
        .contains("memory-limit cannot be applied: the server is not root")
        .contains("\n0 passed");
  }
}
