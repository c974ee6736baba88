package dev.carrel.guest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The client against the real guest: what the engine contract does not already ask. */
@Timeout(60)
final class GuestIT {
  private static final Map<String, String> ENVIRONMENT = Map.of("PATH", "/usr/bin:/bin");
  private static final int SIGKILL = 9;

  private LocalGuest local;
  private Guest guest;

  @BeforeEach
  void startGuest() throws Exception {
    local = new LocalGuest(null);
    guest = local.client();
  }

  @AfterEach
  void stopGuest() throws Exception {
    local.close();
  }

  @Test
  void controlChannelCarriesBytesBothWays() {
    var request = shell("read line <&3; echo \"got $line\" >&4; echo out").withControl(true);
    try (ExecSession session = guest.exec(ExecId.random(), request)) {
      session.control(ByteBuffer.wrap("hello\n".getBytes(UTF_8)));
      var control = new StringBuilder();
      var output = new StringBuilder();
      for (GuestEvent event = session.next(); event != null; event = session.next()) {
        if (event instanceof GuestEvent.Control piece) {
          control.append(UTF_8.decode(piece.bytes()));
        } else if (event instanceof GuestEvent.Output piece) {
          output.append(UTF_8.decode(piece.bytes()));
        }
      }
      assertThat(control.toString()).isEqualTo("got hello\n");
      assertThat(output.toString()).isEqualTo("out\n");
    }
  }

  @Test
  void signalPassesInputThatNobodyReads() throws Exception {
    var request = ExecRequest.of(Command.of("sleep", "100").withStdin(true), ENVIRONMENT);
    try (ExecSession session = guest.exec(ExecId.random(), request);
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<?> writer = threads.submit(() -> session.stdin(ByteBuffer.allocate(16 << 20)));
      session.signal(SIGKILL, SignalScope.TREE);

      assertThat(last(session).signal()).isEqualTo(SIGKILL);
      assertThatExceptionOfType(ExecutionException.class)
          .isThrownBy(writer::get)
          .havingCause()
          .isInstanceOfSatisfying(
              SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.WRONG_STATE));
    }
  }

  @Test
  void detachedExecGoesOnAndTellsOfWhatWasLost() {
    ExecId id = ExecId.random();
    var request =
        shell("echo start; read line; head -c 100000 /dev/zero; echo end; exec sleep 100")
            .withRetain(DataSize.ofKibibytes(4));
    var withInput =
        new ExecRequest(
            request.command().withStdin(true),
            ENVIRONMENT,
            false,
            false,
            false,
            request.retain(),
            request.grace());
    try (ExecSession session = guest.exec(id, withInput)) {
      session.stdin(ByteBuffer.wrap("go\n".getBytes(UTF_8)));
      session.detach();
      while (session.next() != null) {}
    }
    ExecInfo info = guest.list().getFirst();
    assertThat(info.running()).isTrue();
    while (info.end() < "start\n".length() + 100_000 + "end\n".length()) {
      info = guest.list().getFirst();
    }

    try (ExecSession session = guest.attach(id, 0)) {
      assertThat(session.next()).isEqualTo(new GuestEvent.Started(info.pid(), info.retainedFrom()));
      assertThat(session.next()).isEqualTo(new GuestEvent.Gap(info.retainedFrom()));
      long seen = 0;
      while (seen < info.end() - info.retainedFrom()) {
        if (session.next() instanceof GuestEvent.Output output) {
          seen += output.bytes().remaining();
        }
      }
      assertThat(session.offset()).isEqualTo(info.end());
    }
    guest.signal(id, SIGKILL, SignalScope.TREE);
  }

  @Test
  void secondReaderIsRefused() {
    ExecId id = ExecId.random();
    try (ExecSession session =
        guest.exec(id, shell("sleep 100").withRetain(DataSize.ofKibibytes(4)))) {
      assertFails(ErrorCode.WRONG_STATE, () -> guest.attachAtEnd(session.id()));
      assertFails(ErrorCode.WRONG_STATE, () -> guest.exec(id, shell("true")));
    }
  }

  @Test
  void gigabyteOfOutputLeavesTheHeapFlat() {
    long size = 1L << 30;
    long before = liveHeap();
    long begin = System.nanoTime();
    long seen = 0;
    try (ExecSession session =
        guest.exec(ExecId.random(), shell("head -c " + size + " /dev/zero"))) {
      for (GuestEvent event = session.next(); event != null; event = session.next()) {
        if (event instanceof GuestEvent.Output output) {
          seen += output.bytes().remaining();
        }
      }
    }
    double seconds = (System.nanoTime() - begin) / 1e9;
    System.out.printf("1 GiB of output: %.0f MB/s%n", size / 1e6 / seconds);

    assertThat(seen).isEqualTo(size);
    assertThat(liveHeap() - before).isLessThan(16L << 20);
  }

  @Test
  void roundTripOfAnExecIsShort() {
    long[] times = new long[400];
    for (int i = 0; i < times.length; i++) {
      long begin = System.nanoTime();
      try (ExecSession session =
          guest.exec(ExecId.random(), ExecRequest.of(Command.of("/bin/true"), ENVIRONMENT))) {
        assertThat(last(session).code()).isZero();
      }
      times[i] = System.nanoTime() - begin;
    }
    long[] warm = Arrays.copyOfRange(times, 100, times.length);
    Arrays.sort(warm);
    System.out.printf("exec true: p50 %.2f ms%n", warm[warm.length / 2] / 1e6);

    // What waits where it need not waits every time; what others take from us, only now and then.
    assertThat(Duration.ofNanos(warm[warm.length / 10])).isLessThan(Duration.ofMillis(20));
  }

  @Test
  void manyExecsAtOnceDoNotMixTheirOutput() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var answers = new ArrayList<Future<String>>();
      for (int i = 0; i < 50; i++) {
        String own = "number " + i;
        answers.add(threads.submit(() -> output("echo " + own)));
      }
      for (int i = 0; i < answers.size(); i++) {
        assertThat(answers.get(i).get()).isEqualTo("number " + i + "\n");
      }
    }
  }

  @Test
  void globFindsAndGrepShowsLines() {
    GuestFiles files = guest.files();
    files.write(FileWrite.to("src/a.py"), "import os\nprint(1)\nend\n".getBytes(UTF_8));
    files.write(FileWrite.to("src/deep/b.py"), "print(2)\n".getBytes(UTF_8));
    files.write(FileWrite.to("src/c.txt"), "print(3)\n".getBytes(UTF_8));

    assertThat(files.glob("src", "**/*.py", 10, false).entries())
        .extracting(FileEntry::path)
        .containsExactlyInAnyOrder("src/a.py", "src/deep/b.py");
    assertThat(files.glob("src", "**/*.{py,txt}", 2, false).truncated()).isTrue();

    GrepResult found = files.grep(GrepRequest.of("src", "^print").withGlob("*.py").withContext(1));
    assertThat(found.matches()).isEqualTo(2);
    assertThat(found.lines())
        .filteredOn(line -> line.path().endsWith("a.py"))
        .extracting(line -> line.number() + " " + line.context() + " " + line.text())
        .containsExactly("1 true import os", "2 false print(1)", "3 true end");
    assertFails(ErrorCode.INVALID_INPUT, () -> files.grep(GrepRequest.of("src", "(")));
  }

  @Test
  void watchTellsOfChangesFromItsStartOn() {
    GuestFiles files = guest.files();
    files.mkdir("d");
    FileWatch watch = files.watch("d");
    try (watch) {
      files.write(FileWrite.to("d/new"), "x".getBytes(UTF_8));
      FileEvent event = watch.next();
      while (event != null && !event.path().endsWith("/new")) {
        event = watch.next();
      }
      assertThat(event).isNotNull();
    }
    assertThat(watch.next()).isNull();
  }

  @Test
  void nameThatIsNotUtf8IsShownInexactly() throws Exception {
    assertThat(output("touch \"$(printf 'a\\374b')\"")).isEmpty();

    FileListing listing = guest.files().list(".", 1, 10);

    assertThat(listing.entries()).hasSize(1);
    assertThat(listing.entries().getFirst().path()).endsWith("a\ufffdb");
    assertThat(listing.entries().getFirst().exact()).isFalse();
    assertThat(output("rm a*")).isEmpty();
  }

  @Test
  void attributesAreKeptUntilAFileIsWrittenAnew() {
    GuestFiles files = guest.files();
    FileWrite write =
        FileWrite.to("tagged").withAttributes(Map.of("colour", "blue", "note", "a = b"));
    files.write(write, new byte[1]);

    assertThat(files.stat("tagged").attributes()).as("not asked for").isEmpty();
    GuestFiles asking = files.withAttributes();
    assertThat(asking.stat("tagged").attributes()).isEqualTo(write.attributes());
    assertThat(asking.list(".", 1, 100).entries())
        .filteredOn(entry -> entry.path().endsWith("tagged"))
        .singleElement()
        .extracting(FileEntry::attributes)
        .isEqualTo(write.attributes());
    assertThat(asking.move("tagged", "moved", OnExisting.FAIL).attributes())
        .isEqualTo(write.attributes());
    files.write(FileWrite.to("moved"), new byte[1]);
    assertThat(asking.stat("moved").attributes()).isEmpty();
  }

  @Test
  void attributesThatNoFileCanHaveAreRefusedAndLeaveTheOldOne() {
    GuestFiles files = guest.files();
    files.write(FileWrite.to("kept"), new byte[3]);

    for (Map<String, String> wrong : List.of(Map.of("k", "v".repeat(5000)), Map.of("", "v"))) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> files.write(FileWrite.to("kept").withAttributes(wrong), new byte[1]));
    }
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () ->
                files.write(
                    FileWrite.to("kept").withAppend(true).withAttributes(Map.of("k", "v")),
                    new byte[1]))
        .withMessageContaining("append");
    assertThat(files.stat("kept").size()).isEqualTo(3);
  }

  @Test
  void linksAreSeenAndFollowed() throws Exception {
    GuestFiles files = guest.files();
    files.write(FileWrite.to("target").withMode(0600), "12345".getBytes(UTF_8));
    assertThat(output("ln -s target link; mkfifo pipe")).isEmpty();

    assertThat(files.stat("link").size()).isEqualTo(5);
    assertThat(files.stat("link").mode()).isEqualTo(0600);
    assertThat(files.statLink("link").type()).isEqualTo(FileEntry.Type.LINK);
    assertThat(files.statLink("link").target()).isEqualTo("target");
    assertFails(ErrorCode.NOT_A_FILE, () -> files.read("pipe"));
    assertFails(ErrorCode.NOT_A_DIRECTORY, () -> files.list("target", 1, 10));
    assertFails(
        ErrorCode.FILE_EXISTS,
        () -> files.write(FileWrite.to("target").withIfAbsent(true), new byte[1]));
  }

  @Test
  void filesBeneathAFolderDoNotLeadOut() {
    guest.files().write(FileWrite.to("in/side"), new byte[1]);
    guest.files().write(FileWrite.to("outside"), new byte[1]);
    assertThat(output("ln -s ../outside in/link")).isEmpty();
    GuestFiles files = guest.files().beneath(local.workspace().resolve("in").toString());

    assertThat(files.stat("side").size()).isEqualTo(1);
    assertFails(ErrorCode.PERMISSION_DENIED, () -> files.stat("../outside"));
    assertFails(ErrorCode.PERMISSION_DENIED, () -> files.read("link"));
  }

  @Test
  void modeIsKeptUnlessGiven() {
    GuestFiles files = guest.files();
    files.write(FileWrite.to("script").withMode(0750), new byte[1]);

    assertThat(files.write(FileWrite.to("script"), new byte[2]).mode()).isEqualTo(0750);
    assertThat(files.write(FileWrite.to("plain"), new byte[2]).mode()).isEqualTo(0644);
  }

  @Test
  void appendAddsAndListingIsCut() throws Exception {
    GuestFiles files = guest.files();
    files.write(FileWrite.to("log").withAppend(true), "one\n".getBytes(UTF_8));
    files.write(FileWrite.to("log").withAppend(true), "two\n".getBytes(UTF_8));
    try (FileDownload log = files.read("log")) {
      assertThat(log.readAllBytes()).asString(UTF_8).isEqualTo("one\ntwo\n");
    }
    assertThat(output("touch a b c d")).isEmpty();

    FileListing listing = files.list(".", 1, 3);
    assertThat(listing.entries()).hasSize(3);
    assertThat(listing.truncated()).isTrue();
  }

  @Test
  void largeFilesStreamBothWaysWithAFlatHeap() throws Exception {
    byte[] piece = new byte[1 << 20];
    long before = liveHeap();
    try (FileUpload upload = guest.files().write(FileWrite.to("large").withSize(200L << 20))) {
      for (int i = 0; i < 200; i++) {
        upload.write(piece);
      }
      assertThat(Files.exists(local.workspace().resolve("large"))).isFalse();
      assertThat(upload.commit().size()).isEqualTo(200L << 20);
    }
    long seen = 0;
    try (FileDownload download = guest.files().read("large")) {
      for (int n = download.read(piece); n >= 0; n = download.read(piece)) {
        seen += n;
      }
    }
    assertThat(seen).isEqualTo(200L << 20);
    assertThat(liveHeap() - before).isLessThan(16L << 20);
  }

  @Test
  void guestWithATokenRefusesOthers() throws Exception {
    try (LocalGuest guarded = new LocalGuest("s3cret")) {
      assertThat(
              guarded
                  .client(
                      new GuestSettings(Duration.ofSeconds(10), Duration.ofSeconds(10), "s3cret"))
                  .ping())
          .isNotNull();
      assertFails(ErrorCode.FORBIDDEN, () -> guarded.client().ping());
    }
  }

  @Test
  void shutdownEndsTheGuest() {
    guest.shutdown(Duration.ofMillis(100));

    assertFails(ErrorCode.GUEST_LOST, guest::ping);
  }

  private String output(String line) {
    var output = new StringBuilder();
    try (ExecSession session = guest.exec(ExecId.random(), shell(line))) {
      for (GuestEvent event = session.next(); event != null; event = session.next()) {
        if (event instanceof GuestEvent.Output piece) {
          output.append(UTF_8.decode(piece.bytes()));
        }
      }
    }
    return output.toString();
  }

  private static ExecRequest shell(String line) {
    return ExecRequest.of(Command.shell(line), ENVIRONMENT);
  }

  private static GuestEvent.Exited last(ExecSession session) {
    GuestEvent event = session.next();
    while (!(event instanceof GuestEvent.Exited exited)) {
      assertThat(event).isNotNull();
      event = session.next();
    }
    return exited;
  }

  private static long liveHeap() {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }

  private static void assertFails(ErrorCode code, ThrowingCallable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call)
        .extracting(SandboxException::code)
        .isEqualTo(code);
  }
}
