package dev.carrel.guest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A guest that hostile code has taken over may send anything, or nothing. */
@Timeout(60)
final class HostileGuestTest {
  private static final ExecId ID = ExecId.random();
  private static final ExecRequest TRUE = ExecRequest.of(Command.of("true"), Map.of());
  private static final Duration SHORT = Duration.ofMillis(500);

  @ParameterizedTest
  @MethodSource("brokenExecs")
  void brokenExecIsLostOnce(Script script) throws Exception {
    try (FakeGuest fake = FakeGuest.saying(script.frames().bytes())) {
      Guest guest = fake.client(Duration.ofSeconds(10));
      var session = new ExecSession[1];

      assertLost(
          script.name(),
          () -> {
            session[0] = guest.exec(ID, TRUE);
            drain(session[0]);
          });
      if (session[0] != null) {
        assertThat(session[0].next()).as("nothing after the loss").isNull();
      }
    }
  }

  static List<Script> brokenExecs() {
    byte[] noise = new byte[100_000];
    new Random(1).nextBytes(noise);
    String id = ID.value();
    return List.of(
        new Script("nothing", Frames.begin()),
        new Script("noise", Frames.begin().bytes(noise)),
        new Script("half a header", Frames.begin().bytes(new byte[] {1, 0})),
        new Script("oversized", Frames.begin().claim(Wire.MAX_PAYLOAD + 1, 0x82, noise)),
        new Script("huge", Frames.begin().claim(Integer.MAX_VALUE, 0x82, noise)),
        new Script("negative", Frames.begin().claim(-1, 0x82, noise)),
        new Script("truncated", Frames.begin().claim(50, Wire.STARTED, new byte[20])),
        new Script("unknown type", Frames.begin().started(id).raw(0xFF, "?")),
        new Script("request type", Frames.begin().started(id).raw(Wire.EXEC, "?")),
        new Script("another exec", Frames.begin().started(ExecId.random().value()).exited()),
        new Script("no id", Frames.begin().fields(Wire.STARTED, 11, 1L).exited()),
        new Script("output first", Frames.begin().raw(Wire.STDOUT, "x").started(id).exited()),
        new Script("started twice", Frames.begin().started(id).started(id).exited()),
        new Script("gap unasked", Frames.begin().started(id).fields(Wire.GAP, 10, 1L).exited()),
        new Script("control unasked", Frames.begin().started(id).raw(Wire.CONTROL_OUT, "x")),
        new Script("change unasked", Frames.begin().started(id).fields(Wire.CHANGE, 40, "a")),
        new Script("no end", Frames.begin().started(id).raw(Wire.STDOUT, "x")),
        new Script(
            "cut output", Frames.begin().started(id).claim(10, Wire.STDOUT, new byte[] {1, 2})),
        new Script(
            "code and signal", Frames.begin().started(id).fields(Wire.EXITED, 30, 0L, 31, 9L)),
        new Script("neither", Frames.begin().started(id).fields(Wire.EXITED, 34, 0L)),
        new Script("bad code", Frames.begin().started(id).fields(Wire.EXITED, 30, 256L)),
        new Script("negative code", Frames.begin().started(id).fields(Wire.EXITED, 30, -1L)),
        new Script(
            "negative time", Frames.begin().started(id).fields(Wire.EXITED, 30, 0L, 34, -1L)),
        new Script(
            "endless time",
            Frames.begin().started(id).fields(Wire.EXITED, 30, 0L, 34, Long.MIN_VALUE)),
        new Script(
            "huge message",
            Frames.begin().started(id).fields(Wire.EXITED, 30, 0L, 33, "x".repeat(100_000))),
        new Script("file answer", Frames.begin().entry("x").ok()));
  }

  @Test
  void outputAfterChangesIsOutOfTurn() throws Exception {
    Frames frames =
        Frames.begin()
            .started(ID.value())
            .fields(Wire.CHANGE, 40, "a", 41, 0L)
            .raw(Wire.STDOUT, "late")
            .exited();
    try (FakeGuest fake = FakeGuest.saying(frames.bytes())) {
      Guest guest = fake.client(Duration.ofSeconds(10));
      assertLost("late output", () -> drain(guest.exec(ID, TRUE.withChanges(true))));
    }
  }

  @Test
  void endlessChangesAreCutAndSaidSo() throws Exception {
    byte[] started = Frames.begin().started(ID.value()).bytes();
    byte[] changes = repeat(Frames.begin().fields(Wire.CHANGE, 40, "p".repeat(4000)).bytes(), 100);
    byte[] exited = Frames.begin().exited().bytes();
    try (FakeGuest fake =
        FakeGuest.behaving(
            connection -> {
              FakeGuest.send(connection, ByteBuffer.wrap(started));
              for (int i = 0; i < 200; i++) {
                FakeGuest.send(connection, ByteBuffer.wrap(changes));
              }
              FakeGuest.send(connection, ByteBuffer.wrap(exited));
            })) {
      var events = drain(fake.client(Duration.ofSeconds(10)).exec(ID, TRUE.withChanges(true)));

      assertThat(events.getLast())
          .isInstanceOfSatisfying(
              GuestEvent.Exited.class,
              exit -> {
                assertThat(exit.changesTruncated()).isTrue();
                assertThat(exit.changes()).hasSizeBetween(1000, 10_000);
              });
    }
  }

  @Test
  void whatFollowsTheEndIsNeverRead() throws Exception {
    Frames frames = Frames.begin().started(ID.value()).exited().raw(Wire.STDOUT, "late");
    try (FakeGuest fake = FakeGuest.saying(frames.bytes())) {
      List<GuestEvent> events = drain(fake.client(Duration.ofSeconds(10)).exec(ID, TRUE));

      assertThat(events).hasSize(2).last().isInstanceOf(GuestEvent.Exited.class);
    }
  }

  @Test
  void endlessAnswersAreCutOffAtWhatWasAskedFor() throws Exception {
    byte[] entries = repeat(Frames.begin().entry("f").bytes(), 1000);
    byte[] infos = repeat(Frames.begin().fields(Wire.EXEC_INFO, 10, ID.value()).bytes(), 1000);
    try (FakeGuest files = FakeGuest.behaving(connection -> forever(connection, entries));
        FakeGuest execs = FakeGuest.behaving(connection -> forever(connection, infos))) {
      Guest guest = files.client(Duration.ofSeconds(10));

      assertLost("list", () -> guest.files().list("/", 1, 500));
      assertLost("glob", () -> guest.files().glob("/", "*", 500, false));
      assertLost("stat", () -> guest.files().stat("/"));
      assertLost("execs", execs.client(Duration.ofSeconds(10))::list);
    }
  }

  @Test
  void answersOfLargeItemsAreBoundedInMemory() throws Exception {
    byte[] match =
        repeat(
            Frames.begin()
                .fields(Wire.MATCH, 50, "p".repeat(10_000), 60, 1L, 61, "x".repeat(60_000))
                .bytes(),
            10);
    byte[] path = Frames.begin().entry("p".repeat(1_000_000)).bytes();
    try (FakeGuest matches = FakeGuest.behaving(connection -> forever(connection, match));
        FakeGuest paths = FakeGuest.behaving(connection -> forever(connection, path))) {
      long before = liveHeap();

      assertFails(
          ErrorCode.TOO_LARGE,
          "grep",
          () ->
              matches
                  .client(Duration.ofSeconds(10))
                  .files()
                  .grep(GrepRequest.of("/", "x").withLimit(100_000).withMaxLine(64_000)));
      assertLost(
          "a path beyond the limit",
          () -> paths.client(Duration.ofSeconds(10)).files().list("/", 1, 10_000));
      assertThat(liveHeap() - before).isLessThan(8L << 20);
    }
  }

  @Test
  void endlessOutputAndEmptyFramesCostNoMemory() throws Exception {
    byte[] output =
        Frames.begin()
            .raw(Wire.STDOUT, new byte[Wire.MAX_PAYLOAD])
            .raw(Wire.STDERR, new byte[0])
            .raw(Wire.STDERR, new byte[70_000])
            .bytes();
    byte[] started = Frames.begin().started(ID.value()).bytes();
    try (FakeGuest fake =
        FakeGuest.behaving(
            connection -> {
              FakeGuest.send(connection, ByteBuffer.wrap(started));
              forever(connection, output);
            })) {
      long before = liveHeap();
      long seen = 0;
      try (ExecSession session = fake.client(Duration.ofSeconds(10)).exec(ID, TRUE)) {
        while (seen < 300L << 20) {
          if (session.next() instanceof GuestEvent.Output piece) {
            assertThat(piece.bytes().remaining()).isBetween(1, Connection.PIECE);
            seen += piece.bytes().remaining();
          }
        }
        assertThat(session.offset()).isEqualTo(seen);
        assertThat(liveHeap() - before).isLessThan(8L << 20);
      }
    }
  }

  @Test
  void silenceIsNotWaitedForForever() throws Exception {
    try (FakeGuest fake = FakeGuest.behaving(FakeGuest::listen)) {
      Guest guest = fake.client(SHORT);

      assertLost("ping", guest::ping);
      assertLost("exec", () -> guest.exec(ID, TRUE));
      assertLost("stat", () -> guest.files().stat("/"));
      assertLost("read", () -> guest.files().read("/x"));
      assertLost("tunnel", () -> guest.tunnel(80));
      assertLost("watch", () -> guest.files().watch("/"));
      assertLost("write", () -> guest.files().write(FileWrite.to("x"), new byte[10]));
    }
  }

  @Test
  void guestAtWorkIsWaitedFor() throws Exception {
    byte[] done = Frames.begin().entry("y").ok().bytes();
    try (FakeGuest fake =
        FakeGuest.behaving(
            connection -> {
              connection.read(ByteBuffer.allocate(4096));
              LockSupport.parkNanos(SHORT.multipliedBy(3).toNanos());
              FakeGuest.send(connection, ByteBuffer.wrap(done));
            })) {
      Guest guest = fake.client(SHORT, Duration.ofSeconds(30));
      assertThat(guest.files().copy("x", "y", OnExisting.FAIL).path()).isEqualTo("y");
      assertThat(guest.files().write(FileWrite.to("y"), new byte[10]).path()).isEqualTo("y");
      assertLost("stat", () -> guest.files().stat("/"));
    }
  }

  @Test
  void silenceInTheMiddleIsNotWaitedForForever() throws Exception {
    byte[] begun = Frames.begin().entry("x").claim(1000, Wire.DATA_OUT, new byte[10]).bytes();
    try (FakeGuest fake =
        FakeGuest.behaving(
            connection -> {
              FakeGuest.send(connection, ByteBuffer.wrap(begun));
              FakeGuest.listen(connection);
            })) {
      try (FileDownload download = fake.client(SHORT).files().read("x")) {
        assertLost("rest", download::readAllBytes);
      }
    }
  }

  @Test
  void guestThatDoesNotReadAnUploadIsNotWaitedForForever() throws Exception {
    var done = new CountDownLatch(1);
    try (FakeGuest fake = FakeGuest.behaving(_ -> awaitQuietly(done))) {
      try (FileUpload upload = fake.client(SHORT).files().write(FileWrite.to("x"))) {
        assertLost(
            "upload",
            () -> {
              for (int i = 0; i < 1000; i++) {
                upload.write(new byte[64 * 1024]);
              }
            });
      }
    } finally {
      done.countDown();
    }
  }

  @Test
  void guestThatTakesNoConnectionIsNotWaitedForForever() throws Exception {
    try (FakeGuest fake = FakeGuest.deaf()) {
      Guest guest = fake.client(SHORT);
      for (int i = 0; i < 3; i++) {
        assertLost("connection " + i, guest::ping);
      }
      assertThat(Thread.currentThread().isInterrupted()).isFalse();
      try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
        threads.submit(() -> assertLost("from a virtual thread", guest::ping)).get();
      }
    }
  }

  @Test
  void fullQueueIsWaitedFor() throws Exception {
    byte[] answer = Frames.begin().fields(Wire.OK, 10, 1L).bytes();
    try (FakeGuest fake =
            FakeGuest.behaving(
                1,
                connection -> {
                  connection.read(ByteBuffer.allocate(64));
                  FakeGuest.send(connection, ByteBuffer.wrap(answer));
                });
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Guest guest = fake.client(Duration.ofSeconds(20));
      var pings = new ArrayList<Future<GuestInfo>>();
      for (int i = 0; i < 200; i++) {
        pings.add(threads.submit(guest::ping));
      }
      for (Future<GuestInfo> ping : pings) {
        assertThat(ping.get().version()).isEqualTo(1);
      }
    }
  }

  @Test
  void programThatIsSilentIsWaitedForButNotBeyondItsTimeout() throws Exception {
    byte[] started = Frames.begin().started(ID.value()).bytes();
    try (FakeGuest fake =
        FakeGuest.behaving(
            connection -> {
              FakeGuest.send(connection, ByteBuffer.wrap(started));
              FakeGuest.listen(connection);
            })) {
      Duration timeout = SHORT.multipliedBy(3);
      var request =
          ExecRequest.of(Command.of("sleep").withTimeout(timeout), Map.of())
              .withGrace(Duration.ofMillis(1));
      long begin = System.nanoTime();
      ExecSession session = fake.client(SHORT).exec(ID, request);

      assertLost("late", () -> drain(session));
      assertThat(Duration.ofNanos(System.nanoTime() - begin)).isGreaterThan(timeout.plus(SHORT));
    }
  }

  @Test
  void slowReaderIsNotTakenForASilentGuest() throws Exception {
    byte[] content = new byte[3_000_000];
    byte[] frames =
        Frames.begin()
            .entry("x")
            .raw(Wire.DATA_OUT, new byte[Wire.MAX_PAYLOAD])
            .raw(Wire.DATA_OUT, new byte[content.length - Wire.MAX_PAYLOAD * 2])
            .raw(Wire.DATA_OUT, new byte[Wire.MAX_PAYLOAD])
            .ok()
            .bytes();
    try (FakeGuest fake = FakeGuest.saying(frames);
        FileDownload download = fake.client(SHORT).files().read("x")) {
      assertThat(download.readNBytes(1000)).hasSize(1000);
      // Longer than the guest would be waited for.
      assertThat(new CountDownLatch(1).await(SHORT.toMillis() * 3, TimeUnit.MILLISECONDS))
          .isFalse();
      assertThat(download.readAllBytes()).hasSize(content.length - 1000);
    }
  }

  /** Input that waits for a program that reads none must not collect behind those who leave. */
  @Test
  void inputOfWhoLeavesBeforeItsTurnIsNotKept() throws Exception {
    var begun = new CountDownLatch(1);
    var reads = new CountDownLatch(1);
    var received = new CompletableFuture<byte[]>();
    FakeGuest.Behaviour behaviour =
        connection -> {
          connection.read(ByteBuffer.allocate(4096));
          FakeGuest.send(connection, ByteBuffer.wrap(Frames.begin().started(ID.value()).bytes()));
          InputStream in = Channels.newInputStream(connection);
          in.readNBytes(Wire.HEADER);
          begun.countDown();
          awaitQuietly(reads);
          received.complete(in.readAllBytes());
        };
    try (FakeGuest fake = FakeGuest.behaving(behaviour)) {
      ExecSession session = fake.client(Duration.ofSeconds(30)).exec(ID, TRUE);
      byte[] much = new byte[4 << 20];
      Thread first = Thread.startVirtualThread(() -> session.stdin(ByteBuffer.wrap(much)));
      begun.await();
      for (int i = 0; i < 3; i++) {
        Thread.currentThread().interrupt();
        assertFails(ErrorCode.WRONG_STATE, "left", () -> session.stdin(latin("no")));
        assertThat(Thread.interrupted()).isTrue();
      }

      reads.countDown();
      first.join();
      session.stdin(latin("yes"));
      session.close();
      assertThat(new String(received.get(), StandardCharsets.ISO_8859_1).replace("\0", ""))
          .doesNotContain("no")
          .endsWith("yes");
    }
  }

  @Test
  void moreOfAFileThanWasAskedForIsRefused() throws Exception {
    byte[] frames = Frames.begin().entry("x").raw(Wire.DATA_OUT, "12345").ok().bytes();
    try (FakeGuest fake = FakeGuest.saying(frames);
        FileDownload download = fake.client(SHORT).files().read("x", 0, 4)) {
      assertLost("too much", download::readAllBytes);
    }
  }

  @Test
  void fileThatEndsWithoutOkIsNotTakenForWhole() throws Exception {
    byte[] frames = Frames.begin().entry("x").raw(Wire.DATA_OUT, "123").bytes();
    try (FakeGuest fake = FakeGuest.saying(frames);
        FileDownload download = fake.client(SHORT).files().read("x")) {
      assertLost("cut off", download::readAllBytes);
    }
  }

  @Test
  void refusalInTheMiddleOfAnUploadIsTheAnswer() throws Exception {
    byte[] refusal = Frames.begin().fields(Wire.ERROR, 10, "no_space", 11, "disk full").bytes();
    try (FakeGuest fake = FakeGuest.saying(refusal);
        FileUpload upload = fake.client(Duration.ofSeconds(10)).files().write(FileWrite.to("x"))) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(
              () -> {
                for (int i = 0; i < 100; i++) {
                  upload.write(new byte[64 * 1024]);
                }
              })
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.NO_SPACE))
          .withMessage("x: disk full");
    }
  }

  @Test
  void refusalBeforeTheRequestWasReadIsTheAnswer() throws Exception {
    byte[] refusal = Frames.begin().fields(Wire.ERROR, 10, "busy", 11, "too many").bytes();
    try (FakeGuest fake =
        FakeGuest.behaving(connection -> FakeGuest.send(connection, ByteBuffer.wrap(refusal)))) {
      Command command = Command.of("echo", "x".repeat(1_000_000));

      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(
              () -> fake.client(Duration.ofSeconds(10)).exec(ID, ExecRequest.of(command, Map.of())))
          .extracting(SandboxException::code)
          .isEqualTo(ErrorCode.WRONG_STATE);
    }
  }

  @Test
  void errorTextCannotForgeLines() throws Exception {
    byte[] refusal =
        Frames.begin()
            .fields(
                Wire.ERROR,
                10,
                "permission",
                11,
                "no\n2026 ERROR forged \u001b[31m" + "x".repeat(4000))
            .bytes();
    try (FakeGuest fake = FakeGuest.saying(refusal)) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> fake.client(SHORT).files().stat("p"))
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.PERMISSION_DENIED))
          .satisfies(
              e -> assertThat(e.message()).doesNotContain("\n", "\u001b").hasSizeLessThan(400));
    }
  }

  @Test
  void anythingAtAllIsAnAnswerOrALoss() {
    byte[] exec =
        Frames.begin()
            .started(ID.value())
            .raw(Wire.STDOUT, "some output")
            .fields(Wire.CHANGE, 40, "a/b", 41, 1L, 42, 5L)
            .exited()
            .bytes();
    byte[] listing = Frames.begin().entry("a").entry("b").fields(Wire.OK, 20, 1L).bytes();
    byte[] grep =
        Frames.begin().fields(Wire.MATCH, 50, "a", 60, 3L, 61, "t").fields(Wire.OK, 22, 1L).bytes();
    byte[] read = Frames.begin().entry("a").raw(Wire.DATA_OUT, "content").ok().bytes();
    for (int seed = 0; seed < 3000; seed++) {
      var random = new Random(seed);
      survive(seed, mutate(exec, random), g -> drain(g.exec(ID, TRUE.withChanges(true))));
      survive(seed, mutate(exec, random), g -> drain(g.attach(ID, 0)));
      survive(seed, mutate(listing, random), g -> g.files().list("/", 1, 10));
      survive(seed, mutate(grep, random), g -> g.files().grep(GrepRequest.of("/", "x")));
      survive(seed, mutate(read, random), g -> g.files().read("/a").readAllBytes());
      survive(seed, mutate(listing, random), Guest::ping);
    }
  }

  private static void survive(int seed, byte[] bytes, Operation operation) {
    var channel = new ScriptedChannel(bytes, new Random(seed));
    try {
      operation.run(new Guest(() -> channel, GuestSettings.DEFAULT));
    } catch (SandboxException e) {
      assertThat(e.message()).as("seed %d", seed).isNotBlank();
    } catch (IOException | RuntimeException e) {
      throw new AssertionError("seed " + seed, e);
    }
    assertThat(channel.isOpen()).as("closed, seed %d", seed).isFalse();
  }

  private static byte[] mutate(byte[] bytes, Random random) {
    byte[] mutated =
        Arrays.copyOf(bytes, bytes.length - random.nextInt(2) * random.nextInt(bytes.length));
    for (int i = random.nextInt(4); i > 0 && mutated.length > 0; i--) {
      int at = random.nextInt(mutated.length);
      mutated[at] = random.nextBoolean() ? (byte) random.nextInt() : (byte) (mutated[at] + 1);
    }
    return mutated;
  }

  private static List<GuestEvent> drain(ExecSession session) {
    var events = new ArrayList<GuestEvent>();
    try (session) {
      for (GuestEvent event = session.next(); event != null; event = session.next()) {
        events.add(event);
      }
    }
    return events;
  }

  private static void assertLost(String what, ThrowingCallable call) {
    assertFails(ErrorCode.GUEST_LOST, what, call);
  }

  private static void assertFails(ErrorCode code, String what, ThrowingCallable call) {
    assertThatExceptionOfType(SandboxException.class)
        .as(what)
        .isThrownBy(call)
        .extracting(SandboxException::code)
        .isEqualTo(code);
  }

  private static void forever(SocketChannel connection, byte[] bytes) throws IOException {
    while (true) {
      FakeGuest.send(connection, ByteBuffer.wrap(bytes));
    }
  }

  private static byte[] repeat(byte[] bytes, int times) {
    ByteBuffer all = ByteBuffer.allocate(bytes.length * times);
    for (int i = 0; i < times; i++) {
      all.put(bytes);
    }
    return all.array();
  }

  private static ByteBuffer latin(String text) {
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  private static void awaitQuietly(CountDownLatch latch) throws IOException {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  private static long liveHeap() {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }

  /** One thing that can be asked of a guest. */
  private interface Operation {
    void run(Guest guest) throws IOException;
  }

  /** A guest's whole speech. */
  record Script(String name, Frames frames) {
    @Override
    public String toString() {
      return name;
    }
  }
}
