package dev.carrel.control.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.image.Digest;
import dev.carrel.image.ImageFolder.Stored;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ImageJobsTest {
  private static final Digest DIGEST = Digest.named("x".getBytes(StandardCharsets.UTF_8));
  private static final Stored STORED = new Stored(DIGEST, List.of(DIGEST), 1, Set.of());

  @TempDir private Path logs;
  private final List<String> told = new ArrayList<>();
  private ImageJobs jobs;

  @BeforeEach
  void open() {
    jobs = new ImageJobs(logs, 2);
  }

  @Test
  void nobodySweepsBetweenTheWorkAndItsEnding() throws Exception {
    var alone = new ArrayList<Boolean>();
    jobs.reserve("a");
    jobs.run("a", _ -> STORED, ending(() -> alone.add(sweepsElsewhere())));

    assertThat(alone).containsExactly(false);
    assertThat(sweepsElsewhere()).isTrue();
  }

  @Test
  void workThatFailsUnexpectedlyEnds() {
    jobs.reserve("a");

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () ->
                jobs.run(
                    "a",
                    _ -> {
                      throw new IllegalArgumentException("a b|c");
                    },
                    ending(() -> {})))
        .matches(e -> e.code() == ErrorCode.INTERNAL);
    assertThat(told).hasSize(1);
    assertThat(told.getFirst()).contains("a b|c");
    assertThat(jobs.busy("a")).isFalse();
  }

  @Test
  void whoLeavesWhileItWaitsLeavesNothingInTheMaking() throws Exception {
    var held = new CountDownLatch(1);
    var begun = new CountDownLatch(2);
    for (String name : List.of("a", "b")) {
      jobs.reserve(name);
      jobs.start(
          name,
          _ -> {
            begun.countDown();
            held.await();
            return STORED;
          },
          ending(() -> {}));
    }
    begun.await();
    jobs.reserve("c");
    var left = new CompletableFuture<Exception>();
    Thread third =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    jobs.run("c", _ -> STORED, ending(() -> told.add("ready")));
                  } catch (InterruptedException | RuntimeException e) {
                    left.complete(e);
                  }
                });
    third.interrupt();

    assertThat(left.get(10, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
    assertThat(told).containsExactly("it was broken off by who asked for it");
    assertThat(jobs.busy("c")).isFalse();
    held.countDown();
    jobs.close();
  }

  @Test
  void logStaysThatOfTheWorkUnderWay() throws Exception {
    jobs.reserve("a");
    jobs.run(
        "a",
        progress -> {
          progress.log("first line");
          assertThatExceptionOfType(SandboxException.class).isThrownBy(() -> jobs.reserve("a"));
          progress.log("second line");
          return STORED;
        },
        ending(() -> {}));

    assertThat(jobs.log("a")).startsWith("first line\nsecond line\n");
  }

  @Test
  void aDiskThatIsFullKeepsNobodyFromHearingTheEnd() throws Exception {
    String log = Digest.named("a".getBytes(StandardCharsets.UTF_8)).hex() + ".log";
    Files.createSymbolicLink(logs.resolve(log), Path.of("/dev/full"));
    jobs.reserve("a");
    jobs.run(
        "a",
        progress -> {
          progress.log("a line");
          return STORED;
        },
        ending(() -> told.add("ready")));
    jobs.reserve("a");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () ->
                jobs.run(
                    "a",
                    _ -> {
                      throw new IOException("No space left on device");
                    },
                    ending(() -> {})))
        .matches(e -> e.code() == ErrorCode.IMAGE_SOURCE_FAILED);

    assertThat(told).containsExactly("ready", "No space left on device");
    assertThat(jobs.busy("a")).isFalse();
  }

  private boolean sweepsElsewhere() {
    return CompletableFuture.supplyAsync(() -> jobs.alone(() -> 0).isPresent()).join();
  }

  private ImageJobs.Ending ending(Runnable ready) {
    return new ImageJobs.Ending() {
      @Override
      public void ready(Stored stored) {
        ready.run();
      }

      @Override
      public void failed(SandboxException why) {
        told.add(why.message());
      }
    };
  }
}
