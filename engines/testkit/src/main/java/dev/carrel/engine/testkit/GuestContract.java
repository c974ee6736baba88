package dev.carrel.engine.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.guest.ExecInfo;
import dev.carrel.guest.ExecRequest;
import dev.carrel.guest.ExecSession;
import dev.carrel.guest.FileDownload;
import dev.carrel.guest.FileEntry;
import dev.carrel.guest.FileWrite;
import dev.carrel.guest.Guest;
import dev.carrel.guest.GuestEvent;
import dev.carrel.guest.OnExisting;
import dev.carrel.guest.RemoveOption;
import dev.carrel.guest.SignalScope;
import dev.carrel.guest.Tunnel;
import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a guest does, which must be the same whatever engine started it. */
@Timeout(60)
public abstract class GuestContract extends MachineTests {
  private static final int SIGKILL = 9;
  private static final int SIGINT = 2;

  @Test
  void guestAnswersOnceStartReturns() {
    Guest guest = startGuest();

    assertThat(guest.ping().version()).isEqualTo(1);
    assertThat(guest.list()).isEmpty();
  }

  @Test
  void streamsAndExitCodeComeBack() {
    Finished finished = Finished.shell(startGuest(), "echo out; echo err >&2; exit 3");

    assertThat(finished.code()).isEqualTo(3);
    assertThat(finished.stdout()).isEqualTo("out\n");
    assertThat(finished.stderr()).isEqualTo("err\n");
    assertThat(finished.exit().timedOut()).isFalse();
    assertThat(finished.exit().duration()).isPositive();
  }

  @Test
  void programThatIsNotThereIsAnExit127WithItsReason() {
    Finished finished = Finished.run(startGuest(), Command.of("no-such-program"));

    assertThat(finished.code()).isEqualTo(127);
    assertThat(finished.exit().message()).contains("No such file");
  }

  @Test
  void environmentIsExactlyWhatWasGiven() {
    Command command =
        Command.of("/usr/bin/env").withEnvironment(Map.of("NAME", "of \u00fc=\n", "LANG", "C"));

    Finished finished = Finished.run(startGuest(), command);

    assertThat(finished.stdout())
        .contains("NAME=of \u00fc=\n\n")
        .contains("LANG=C\n")
        .contains("PATH=")
        .doesNotContain("HOME=")
        .doesNotContain("JAVA");
  }

  @Test
  void commandsStartInTheWorkspaceUnlessToldOtherwise() {
    Guest guest = startGuest();
    guest.files().write(FileWrite.to("here"), new byte[0]);

    assertThat(Finished.shell(guest, "ls").stdout()).isEqualTo("here\n");
    assertThat(Finished.run(guest, Command.of("pwd").withCwd("/usr")).stdout()).isEqualTo("/usr\n");
  }

  @Test
  void stdinReachesTheProgramAndEnds() {
    Guest guest = startGuest();
    var request = ExecRequest.of(Command.of("cat").withStdin(true), Finished.ENVIRONMENT);
    try (ExecSession session = guest.exec(ExecId.random(), request)) {
      session.stdin(ByteBuffer.wrap("one ".getBytes(UTF_8)));
      session.stdin(ByteBuffer.wrap("two".getBytes(UTF_8)));
      session.endStdin();

      assertThat(Finished.follow(session).stdout()).isEqualTo("one two");
    }
  }

  @Test
  void withoutStdinTheProgramReadsNothing() {
    assertThat(Finished.shell(startGuest(), "cat; echo end").stdout()).isEqualTo("end\n");
  }

  @Test
  void terminalHasItsSizeAndCanBeResized() {
    Guest guest = startGuest();
    Command command =
        Command.shell("trap 'stty size; exit' WINCH; stty size; while :; do sleep 0.05; done")
            .withTerminal(new Command.TerminalSize(30, 100));
    try (ExecSession session =
        guest.exec(ExecId.random(), ExecRequest.of(command, Finished.ENVIRONMENT))) {
      var output = new StringBuilder();
      while (!output.toString().contains("30 100")) {
        if (session.next() instanceof GuestEvent.Output piece) {
          assertThat(piece.channel()).isEqualTo(Channel.STDOUT);
          output.append(UTF_8.decode(piece.bytes()));
        }
      }
      session.resize(new Command.TerminalSize(40, 120));

      assertThat(Finished.follow(session).stdout()).contains("40 120");
    }
  }

  @Test
  void interruptKeyOnATerminalReachesTheForeground() {
    Guest guest = startGuest();
    Command command =
        Command.shell("trap 'echo got it; exit 7' INT; echo ready; while :; do sleep 0.05; done")
            .withTerminal(new Command.TerminalSize(24, 80))
            .withStdin(true);
    try (ExecSession session =
        guest.exec(ExecId.random(), ExecRequest.of(command, Finished.ENVIRONMENT))) {
      awaitOutput(session, "ready");
      session.stdin(ByteBuffer.wrap(new byte[] {3}));
      Finished finished = Finished.follow(session);

      assertThat(finished.stdout()).contains("got it");
      assertThat(finished.code()).isEqualTo(7);
    }
  }

  @Test
  void interruptKeyInAShellEndsItsJobAndNotTheShell() {
    Guest guest = startGuest();
    Command command =
        Command.of("/bin/bash", "--norc", "--noprofile", "-i")
            .withTerminal(new Command.TerminalSize(24, 80))
            .withStdin(true);
    try (ExecSession session =
        guest.exec(ExecId.random(), ExecRequest.of(command, Finished.ENVIRONMENT))) {
      // The job says itself that it runs: in a group of its own, in the foreground.
      type(session, "PS1='<$?> '; sh -c 'echo rea\"\"dy; exec sleep 100'\n");
      awaitOutput(session, "ready");
      session.stdin(ByteBuffer.wrap(new byte[] {3}));
      assertThat(awaitOutput(session, "<130> ")).contains("^C");
      type(session, "exit 9\n");

      assertThat(Finished.follow(session).code()).isEqualTo(9);
    }
  }

  private static void type(ExecSession session, String text) {
    session.stdin(ByteBuffer.wrap(text.getBytes(UTF_8)));
  }

  @Test
  void signalsAreToldApartFromExits() {
    Guest guest = startGuest();
    // With exec: a shell that is about to fork keeps an early interrupt until its child has ended.
    try (ExecSession session =
        guest.exec(
            ExecId.random(),
            ExecRequest.of(Command.shell("echo ready; exec sleep 100"), Finished.ENVIRONMENT))) {
      awaitOutput(session, "ready");
      session.signal(SIGINT, SignalScope.GROUP);
      GuestEvent.Exited exit = Finished.follow(session).exit();

      assertThat(exit.signal()).isEqualTo(SIGINT);
      assertThat(exit.code()).isNull();
    }
    GuestEvent.Exited own = Finished.shell(guest, "kill -SEGV $$").exit();
    assertThat(own.signal()).isEqualTo(11);
    assertThat(own.killed()).isFalse();
  }

  @Test
  void timeoutKillsTheWholeTreeAndKeepsTheOutput() {
    Guest guest = startGuest();
    String marker = marker();
    Command command =
        Command.shell(
                "echo before; setsid sh -c 'trap \"\" TERM; sleep "
                    + marker
                    + "' & (sleep "
                    + marker
                    + " &); sleep "
                    + marker)
            .withTimeout(Duration.ofSeconds(1));
    Finished finished =
        Finished.run(
            guest, ExecRequest.of(command, Finished.ENVIRONMENT).withGrace(Duration.ofMillis(100)));

    assertThat(finished.exit().timedOut()).isTrue();
    assertThat(finished.stdout()).isEqualTo("before\n");
    assertThat(finished.exit().duration())
        .isBetween(Duration.ofMillis(990), Duration.ofSeconds(20));
    Eventually.holds(
        "no process of the tree is left",
        Duration.ofSeconds(30),
        () -> Leftovers.processes(marker).isEmpty() && sleepers(guest, marker) == 0);
  }

  @Test
  void closingTheConnectionKillsTheTree() {
    Guest guest = startGuest();
    String marker = marker();
    ExecSession session =
        guest.exec(
            ExecId.random(),
            ExecRequest.of(
                Command.shell("(setsid sleep " + marker + " &); echo ready; sleep " + marker),
                Finished.ENVIRONMENT));
    awaitOutput(session, "ready");
    session.close();

    assertThat(session.next()).isNull();
    Eventually.holds(
        "the tree is gone",
        Duration.ofSeconds(30),
        () ->
            Leftovers.processes(marker).isEmpty()
                && sleepers(guest, marker) == 0
                && guest.ping().processes() == 0);
  }

  @Test
  void daemonThatOutlivesItsCommandStaysOfItsTree() {
    Guest guest = startGuest();
    String marker = marker();
    String other = marker();
    ExecId id = ExecId.random();
    Command command = Command.shell("(setsid sleep " + marker + " >/dev/null 2>&1 &)");
    ExecRequest request =
        ExecRequest.of(command, Finished.ENVIRONMENT).withRetain(DataSize.ofKibibytes(1));
    try (ExecSession session = guest.exec(id, request)) {
      assertThat(Finished.follow(session).exit().left()).isEqualTo(1);
    }
    Finished.shell(guest, "(setsid sleep " + other + " >/dev/null 2>&1 &)");
    assertThat(guest.ping().processes()).isEqualTo(2);

    guest.signal(id, SIGKILL, SignalScope.TREE);

    Eventually.holds(
        "its own daemon is gone",
        Duration.ofSeconds(30),
        () -> sleepers(guest, marker) == 0 && guest.ping().processes() == 1);
    assertThat(sleepers(guest, other)).isEqualTo(1);
    // In brackets, so that the line does not find itself.
    String daemon = "grep -lz [1]" + other.substring(1) + " /proc/[0-9]*/cmdline";
    assertThat(Finished.shell(guest, "kill $(" + daemon + " | cut -d / -f 3)").code()).isZero();
    Eventually.holds(
        "nobody is left to keep", Duration.ofSeconds(30), () -> guest.ping().processes() == 0);
  }

  /** As seen from the inside, where a kernel of its own shows the host no processes. */
  private static int sleepers(Guest guest, String marker) {
    String all =
        Finished.shell(guest, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '").stdout();
    return all.split("sleep " + marker, -1).length - 1;
  }

  @Test
  void bigOutputArrivesWhole() {
    Guest guest = startGuest();
    long size = 64L << 20;
    long seen = 0;
    try (ExecSession session =
        guest.exec(
            ExecId.random(),
            ExecRequest.of(
                Command.shell("head -c " + size + " /dev/zero"), Finished.ENVIRONMENT))) {
      GuestEvent event = session.next();
      for (; !(event instanceof GuestEvent.Exited); event = session.next()) {
        if (event instanceof GuestEvent.Output output) {
          seen += output.bytes().remaining();
        }
      }
      assertThat(((GuestEvent.Exited) event).code()).isZero();
    }
    assertThat(seen).isEqualTo(size);
  }

  @Test
  void backgroundExecOutlivesItsConnectionAndCanBeJoined() {
    Guest guest = startGuest();
    ExecId id = ExecId.random();
    Command command = Command.shell("echo one; read line; echo two $line").withStdin(true);
    var request =
        ExecRequest.of(command, Finished.ENVIRONMENT)
            .withKeep(true)
            .withRetain(DataSize.ofKibibytes(64));
    try (ExecSession session = guest.exec(id, request)) {
      awaitOutput(session, "one\n");
    }
    assertThat(guest.list()).extracting(ExecInfo::id).containsExactly(id);
    assertThat(guest.list().getFirst().running()).isTrue();

    Eventually.holds(
        "the first connection's end was seen",
        Duration.ofSeconds(30),
        () -> !guest.list().getFirst().attached());
    try (ExecSession session = guest.attach(id, 0)) {
      session.stdin(ByteBuffer.wrap("more\n".getBytes(UTF_8)));
      Finished finished = Finished.follow(session);

      assertThat(finished.stdout()).isEqualTo("one\ntwo more\n");
      assertThat(session.offset()).isEqualTo("one\ntwo more\n".length());
    }
    try (ExecSession again = guest.attach(id, 4)) {
      assertThat(Finished.follow(again).stdout()).isEqualTo("two more\n");
    }
    guest.forget(id);
    assertThat(guest.list()).isEmpty();
    assertFails(ErrorCode.EXEC_NOT_FOUND, () -> guest.attach(id, 0));
  }

  @Test
  void changesUnderTheWorkspaceAreReported() {
    Guest guest = startGuest();
    guest.files().write(FileWrite.to("old"), "1".getBytes(UTF_8));
    guest.files().write(FileWrite.to("gone"), "1".getBytes(UTF_8));
    Command command =
        Command.shell("mkdir -p deep/er; echo x > deep/er/new; echo y >> old; rm gone");

    Finished finished =
        Finished.run(guest, ExecRequest.of(command, Finished.ENVIRONMENT).withChanges(true));

    assertThat(finished.exit().changes())
        .extracting(change -> change.action() + " " + change.path())
        .contains("CREATED deep/er/new", "MODIFIED old", "DELETED gone");
    assertThat(finished.exit().changesTruncated()).isFalse();
  }

  @Test
  void filesAreBinarySafeAndReplacedInOneStep() throws Exception {
    Guest guest = startGuest();
    byte[] content = new byte[3_000_001];
    new Random(7).nextBytes(content);

    FileEntry written = guest.files().write(FileWrite.to("a/b/data.bin"), content);
    assertThat(written.size()).isEqualTo(content.length);
    assertThat(written.type()).isEqualTo(FileEntry.Type.FILE);
    try (FileDownload download = guest.files().read("a/b/data.bin")) {
      assertThat(download.entry().size()).isEqualTo(content.length);
      assertThat(download.readAllBytes()).isEqualTo(content);
    }
    try (FileDownload part = guest.files().read("a/b/data.bin", 1000, 10)) {
      assertThat(part.readAllBytes()).isEqualTo(Arrays.copyOfRange(content, 1000, 1010));
    }
    try (var upload = guest.files().write(FileWrite.to("a/b/data.bin"))) {
      upload.write(new byte[100]); // not committed
    }
    assertThat(guest.files().stat("a/b/data.bin").size()).isEqualTo(content.length);
  }

  @Test
  void filesCanBeMovedCopiedListedAndRemoved() {
    Guest guest = startGuest();
    guest.files().mkdir("d");
    guest.files().write(FileWrite.to("d/f"), "x".getBytes(UTF_8));
    guest.files().copy("d", "e", OnExisting.FAIL);
    guest.files().move("e/f", "e/g", OnExisting.FAIL);

    assertThat(guest.files().list("e", 1, 100).entries())
        .extracting(entry -> entry.path().substring(entry.path().lastIndexOf('/') + 1))
        .containsExactly("g");
    assertFails(ErrorCode.FILE_NOT_FOUND, () -> guest.files().stat("e/f"));
    assertFails(ErrorCode.FILE_EXISTS, () -> guest.files().move("d/f", "e/g", OnExisting.FAIL));
    assertFails(ErrorCode.DIRECTORY_NOT_EMPTY, () -> guest.files().remove("e"));
    guest.files().remove("e", RemoveOption.RECURSIVE);
    assertFails(ErrorCode.FILE_NOT_FOUND, () -> guest.files().stat("e"));
  }

  @Test
  void tunnelReachesAPortInsideBothWays() throws Exception {
    Guest guest = startGuest();
    String server =
        """
        import socket
        s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
        print(s.getsockname()[1], flush=True)
        c, _ = s.accept(); data = b""
        while piece := c.recv(65536): data += piece
        c.sendall(data[::-1]); c.close()
        """;
    try (ExecSession session =
        guest.exec(
            ExecId.random(),
            ExecRequest.of(Command.of("/usr/bin/python3", "-c", server), Finished.ENVIRONMENT))) {
      int port = Integer.parseInt(awaitOutput(session, "\n").strip());
      try (Tunnel tunnel = guest.tunnel(port)) {
        tunnel.write(ByteBuffer.wrap("abc".getBytes(UTF_8)));
        tunnel.endOutput();
        ByteBuffer answer = ByteBuffer.allocate(16);
        while (tunnel.read(answer) >= 0) {}

        assertThat(UTF_8.decode(answer.flip()).toString()).isEqualTo("cba");
      }
      assertThat(Finished.follow(session).code()).isZero();
      assertFails(ErrorCode.WRONG_STATE, () -> guest.tunnel(port));
    }
  }

  @Test
  void killedByTheHostIsSaidSo() {
    Guest guest = startGuest();
    try (ExecSession session =
        guest.exec(
            ExecId.random(),
            ExecRequest.of(Command.shell("echo ready; sleep 100"), Finished.ENVIRONMENT))) {
      awaitOutput(session, "ready");
      session.signal(SIGKILL, SignalScope.TREE);
      GuestEvent.Exited exit = Finished.follow(session).exit();

      assertThat(exit.signal()).isEqualTo(SIGKILL);
      assertThat(exit.killed()).isTrue();
    }
  }

  /** Output of the session up to and with the awaited text. */
  static String awaitOutput(ExecSession session, String awaited) {
    var seen = new StringBuilder();
    while (seen.indexOf(awaited) < 0) {
      switch (session.next()) {
        case GuestEvent.Output output -> seen.append(UTF_8.decode(output.bytes()));
        case GuestEvent.Started _, GuestEvent.Gap _, GuestEvent.Control _ -> {}
        case GuestEvent.Exited exited ->
            throw new AssertionError("ended before '" + awaited + "': " + seen + exited);
        case null -> throw new AssertionError("no more events before '" + awaited + "': " + seen);
      }
    }
    return seen.toString();
  }

  /** A number of seconds that no other process sleeps for. */
  static String marker() {
    return "1" + (100_000_000L + new Random().nextInt(899_999_999));
  }

  static void assertFails(ErrorCode code, ThrowingCallable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call)
        .extracting(SandboxException::code)
        .isEqualTo(code);
  }
}
