package dev.carrel.e2e.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.testkit.Eventually;
import dev.carrel.engine.testkit.Leftovers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Clients lead a random life while one thing goes wrong after another. Whatever the moment: what
 * was acknowledged is kept, nothing is stuck, and at the end nothing is left on the host.
 *
 * <p>{@code -Dchaos.seed=…} repeats a run's choices (not its timing), {@code -Dchaos.rounds=…}
 * makes it longer, {@code -Dchaos.hold-millis=…} keeps the disk full and the store locked for
 * longer.
 */
class ChaosIT {
  private static final int ROUNDS = Integer.getInteger("chaos.rounds", 2);
  private static final int CLIENTS = 3;
  private static final int MAX_ANSWERS = 40;
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Duration MOMENT = Duration.ofSeconds(2);

  private final long seed = Long.getLong("chaos.seed", ThreadLocalRandom.current().nextLong());
  private final Random random = new Random(seed);
  private final Ledger ledger = new Ledger();

  @TempDir private Path folder;

  @BeforeEach
  void mountSmallDisk() throws Exception {
    SmallDisk.mount(folder);
  }

  @AfterEach
  void unmount() throws Exception {
    SmallDisk.unmount(folder);
  }

  @ParameterizedTest
  @EnumSource(Fault.class)
  void nothingIsLostStuckOrLeft(Fault fault) throws Exception {
    try {
      try (World world = new World(folder)) {
        Set<String> routes = world.routes();
        for (int round = 0; round < ROUNDS; round++) {
          live(world, routes, fault);
          new Verdict(world.api(), ledger).check(world.listed());
        }
        removeAll(world);
      }
      assertThat(Residue.inStore(ledger.ids(), folder.resolve("data/carrel.db"))).isEmpty();
    } catch (Exception | AssertionError e) {
      throw new AssertionError("-Dchaos.seed=%d, %s, after %s".formatted(seed, fault, ledger), e);
    }
  }

  /** One round: clients at work, the fault at some moment, and an end that all come to. */
  private void live(World world, Set<String> routes, Fault fault) throws Exception {
    AtomicBoolean stop = new AtomicBoolean();
    List<Thread> clients = new ArrayList<>();
    for (int i = 0; i < CLIENTS; i++) {
      clients.add(
          Thread.startVirtualThread(
              new Client(
                  "c" + i,
                  world.api(),
                  ledger,
                  random.nextLong(),
                  routes,
                  fault.sandbox(),
                  stop::get)));
    }
    awaitAnswers(1 + random.nextInt(MAX_ANSWERS));
    fault.strike(world, ledger, random);
    if (world.serverRuns()) {
      awaitAnswers(MAX_ANSWERS / 2);
    }
    stop.set(true);
    for (Thread client : clients) {
      assertThat(ends(client, world)).as("every request is answered in bounded time").isTrue();
    }
    world.onDisk().forEach(ledger::seen);
    if (!world.serverRuns()) {
      world.startServer();
    }
  }

  private static boolean ends(Thread client, World world) throws InterruptedException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!client.join(MOMENT)) {
      if (System.nanoTime() - end > 0) {
        return false;
      }
      if (world.serverRuns()) {
        world.resumePaused();
      }
    }
    return true;
  }

  private void awaitAnswers(int more) {
    long wanted = ledger.answers() + more;
    Eventually.holds(more + " more answers", PATIENCE, () -> ledger.answers() >= wanted);
  }

  private void removeAll(World world) throws Exception {
    // What waits in the pool must go with it.
    world.restartWithoutPool();
    Verdict verdict = new Verdict(world.api(), ledger);
    ledger.boxes().forEach(verdict::delete);
    world.listed().forEach(id -> verdict.delete(new KnownBox(id, false)));
    assertThat(world.listed()).isEmpty();
    world.removeSnapshots();
    // Volumes of warm sandboxes whose server was killed are nobody's: the sweep finds those.
    Eventually.holds("the sweep has looked", PATIENCE, () -> Residue.volumes(folder).isEmpty());
    // A loop device is let go a moment after its volume; and one may be there for the next sandbox.
    Eventually.holds("no loop device", PATIENCE, () -> Leftovers.loops(folder).isEmpty());
    assertThat(Residue.onHost(ledger.ids(), folder)).isEmpty();
  }
}
