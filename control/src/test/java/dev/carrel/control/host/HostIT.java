package dev.carrel.control.host;

import static dev.carrel.control.ControlFixture.eventually;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.ControlSettings;
import dev.carrel.control.approval.Approval;
import dev.carrel.control.approval.Approval.Kind;
import dev.carrel.control.approval.Approval.Scope;
import dev.carrel.control.approval.AskApproval;
import dev.carrel.control.audit.AuditQuery;
import dev.carrel.control.audit.AuditRecord;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Caller.Permission;
import dev.carrel.control.sandbox.Caller.Role;
import dev.carrel.control.vault.VaultSettings;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Attacks on the host through what is lent out of it, each beside something that works. */
@Timeout(120)
final class HostIT {
  private static final Caller AGENT =
      new Caller("acme", "agent", Role.USER, Set.of(Permission.HOST));
  private static final Caller ADMIN = new Caller("office", "ada", Role.ADMIN);
  private static final OnBehalf SELF = new OnBehalf(null, null);

  private Path root;
  private Path lent;
  private Path open;
  private final List<ControlFixture> opened = new ArrayList<>();

  @BeforeEach
  void begin() throws IOException {
    root = Files.createTempDirectory(Path.of("/tmp"), "ht");
    lent = Files.createDirectory(root.resolve("lent"));
    open = Files.createDirectory(root.resolve("open"));
    Files.writeString(root.resolve("secret"), "canary");
    Files.writeString(lent.resolve("note"), "hello");
  }

  @AfterEach
  void end() throws IOException {
    for (ControlFixture one : opened) {
      one.close();
    }
    try (Stream<Path> files = Files.walk(root)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  private Host host(UnaryOperator<HostSettings> change) throws IOException {
    return host(change, settings -> settings);
  }

  private Host host(UnaryOperator<HostSettings> change, UnaryOperator<ControlSettings> more)
      throws IOException {
    HostSettings off = HostSettings.off();
    var on =
        new HostSettings(
            true,
            patterns("uname -s", "printf **", "env", "sleep *", "perl -e *", "cat *"),
            off.blocked(),
            List.of(lent),
            List.of(open),
            off.hidden(),
            off.path(),
            Map.of(),
            Duration.ofSeconds(30),
            Duration.ofMinutes(1),
            new DataSize(64 * 1024),
            new DataSize(100_000),
            2,
            DataSize.ofMebibytes(64),
            16);
    opened.add(new ControlFixture(settings -> more.apply(settings).withHost(change.apply(on))));
    return fixture().control().host();
  }

  private ControlFixture fixture() {
    return opened.getLast();
  }

  private static List<CommandPattern> patterns(String... texts) {
    return Stream.of(texts).map(CommandPattern::parse).toList();
  }

  private static HostSettings with(
      HostSettings old, List<CommandPattern> allowed, List<CommandPattern> blocked) {
    return new HostSettings(
        old.enabled(),
        allowed,
        blocked,
        old.folders(),
        old.writable(),
        old.hidden(),
        old.path(),
        old.environment(),
        old.timeout(),
        old.maxTimeout(),
        old.maxOutput(),
        old.maxFile(),
        old.maxConcurrent(),
        old.maxMemory(),
        old.maxProcesses());
  }

  private static HostSettings withFolders(
      HostSettings old, List<Path> folders, List<Path> writable) {
    return new HostSettings(
        old.enabled(),
        old.allowed(),
        old.blocked(),
        folders,
        writable,
        old.hidden(),
        old.path(),
        old.environment(),
        old.timeout(),
        old.maxTimeout(),
        old.maxOutput(),
        old.maxFile(),
        old.maxConcurrent(),
        old.maxMemory(),
        old.maxProcesses());
  }

  private static HostCommand command(String... words) {
    return new HostCommand(List.of(words), null, null, SELF);
  }

  private static void refused(ErrorCode code, ThrowingCallable work) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(work)
        .extracting(SandboxException::code)
        .isEqualTo(code);
  }

  private Approval ask(String subject, Scope scope) {
    return fixture()
        .control()
        .approvals()
        .ask(AGENT, new AskApproval(Kind.HOST_COMMAND, subject, null, null, scope, "why", null));
  }

  private void approve(Approval asked, @Nullable Duration term) {
    fixture().control().approvals().decide(ADMIN, asked.id(), true, null, term, "");
  }

  private List<AuditRecord> records(String action) {
    return fixture()
        .control()
        .audit()
        .page(ADMIN, new AuditQuery(null, null, action, null, null, null, 100));
  }

  @Test
  void nothingIsLentOutUnlessTheOperatorSaysSo() throws Exception {
    opened.add(new ControlFixture());
    Host host = fixture().control().host();
    assertThat(host.enabled()).isFalse();
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command("uname", "-a")));
    refused(ErrorCode.FORBIDDEN, () -> host.read(AGENT, SELF, "/etc/hostname", 0, 10));
    refused(ErrorCode.FORBIDDEN, () -> host.list(AGENT, SELF, "/tmp"));
    refused(ErrorCode.FORBIDDEN, () -> host.access(AGENT));
    refused(ErrorCode.FORBIDDEN, () -> ask("uname -a", Scope.NAMESPACE));
    assertThat(records("host.refuse")).hasSize(3);
  }

  @Test
  void noRoleHasThePermission() throws Exception {
    Host host = host(on -> on);
    refused(ErrorCode.FORBIDDEN, () -> host.exec(ADMIN, command("uname", "-s")));
    refused(
        ErrorCode.FORBIDDEN, () -> host.exec(Caller.user("acme", "bob"), command("uname", "-s")));
    assertThat(host.exec(AGENT, command("uname", "-s")).stdout()).isEqualTo("Linux\n");
    assertThat(records("host.refuse")).hasSize(2);
    AuditRecord run = records("host.exec").getFirst();
    assertThat(run.entry().subject()).isEqualTo("uname -s");
    assertThat(run.entry().who().principal()).isEqualTo("agent");
    assertThat(run.entry().outcome().stdout()).isEqualTo("Linux\n");
    assertThat(records("host.start")).hasSize(1);
  }

  @Test
  void argumentsAreNeverInterpreted() throws Exception {
    Host host = host(on -> on);
    String nasty = "a; touch " + root.resolve("made") + " | $(id) `id` && * ~ > x";
    assertThat(host.exec(AGENT, command("printf", "%s|", nasty, "b")).stdout())
        .isEqualTo(nasty + "|b|");
    assertThat(root.resolve("made")).doesNotExist();
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command("uname", "-s;", "id")));
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command("uname", "-s; id")));
    for (String hidden : List.of("x\nid", "x\0id", "x\rid", "x\u001b[2Jid", "x\u202eid")) {
      refused(ErrorCode.INVALID_INPUT, () -> command("printf", hidden));
    }
    refused(ErrorCode.INVALID_INPUT, () -> command("LD_PRELOAD=/tmp/x", "uname"));
    refused(ErrorCode.INVALID_INPUT, () -> host.exec(AGENT, command("../bin/uname", "-s")));
    refused(ErrorCode.INVALID_INPUT, () -> host.exec(AGENT, command("/usr/../usr/bin/uname")));
  }

  @Test
  void blockedWinsByWhateverName() throws Exception {
    Path alias = Files.createSymbolicLink(root.resolve("harmless"), Path.of("/usr/bin/uname"));
    Host host =
        host(
            on ->
                with(
                    on,
                    patterns("uname **", "nice **", "/usr/bin/uname **", alias + " **", "printf x"),
                    patterns("uname")));
    for (String[] words :
        new String[][] {
          {"uname", "-s"},
          {"/usr/bin/uname", "-s"},
          {alias.toString(), "-s"},
          {"nice", "uname", "-s"},
          {"nice", "-n", "1", "/usr/bin/uname"},
        }) {
      refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command(words)));
    }
    refused(ErrorCode.FORBIDDEN, () -> ask("uname -s", Scope.NAMESPACE));
    // What a person approved does not open it, either.
    approve(ask("timeout **", Scope.NAMESPACE), null);
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command("timeout", "60", "uname")));
    assertThat(host.exec(AGENT, command("timeout", "60", "printf", "y")).stdout()).isEqualTo("y");
    assertThat(host.exec(AGENT, command("printf", "x")).stdout()).isEqualTo("x");
    assertThat(records("host.exec").getLast().entry().outcome().cause()).isEqualTo("denied");
  }

  @Test
  void theEnvironmentIsCleanAndCannotBeSet() throws Exception {
    Host host = host(on -> with(on, on.allowed(), List.of()));
    String seen = host.exec(AGENT, command("env")).stdout();
    assertThat(seen.lines().map(line -> line.substring(0, line.indexOf('='))))
        .containsExactlyInAnyOrder("PATH", "HOME", "LANG", "CARREL_COMMAND_MARK");
    refused(
        ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command("env", "LD_PRELOAD=/tmp/x", "uname")));
  }

  @Test
  void aProgramThatAnybodyCanReplaceIsRefused() throws Exception {
    Path program = Files.writeString(root.resolve("tool"), "#!/bin/cat\n");
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxrwxrwx"));
    Host host = host(on -> with(on, patterns(program.toString()), List.of()));
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command(program.toString())));
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    assertThat(host.exec(AGENT, command(program.toString())).stdout()).isEqualTo("#!/bin/cat\n");
  }

  @Test
  void outputAndTimeAreBoundedAndNothingIsLeftRunning() throws Exception {
    Host host = host(on -> with(on, patterns("perl -e *"), List.of()));
    HostResult loud = host.exec(AGENT, command("perl", "-e", "print 'x' x 1000000"));
    assertThat(loud.stdout()).hasSize(64 * 1024);
    assertThat(loud.cut()).isTrue();
    Path pids = root.resolve("pids");
    // A daemon as of old: twice forked, in a session of its own, with the streams still open.
    String daemon =
        "use POSIX 'setsid'; if (!fork) { setsid(); if (!fork) { $SIG{TERM}='IGNORE';"
            + " open F, '>', '"
            + pids
            + "'; print F $$; close F; sleep 600; } exit } wait;"
            + " select undef, undef, undef, 0.01 until -s '"
            + pids
            + "'; %s";
    HostResult left = host.exec(AGENT, command("perl", "-e", daemon.formatted("print 'done'")));
    assertThat(left.stdout()).isEqualTo("done");
    assertGone(pids);
    var slow =
        new HostCommand(
            List.of("perl", "-e", "$|=1; " + daemon.formatted("print 'begun'; sleep 600")),
            null,
            Duration.ofSeconds(6),
            SELF);
    Files.delete(pids);
    HostResult late = host.exec(AGENT, slow);
    assertThat(late.timedOut()).isTrue();
    assertThat(late.code()).isEqualTo(137);
    assertThat(late.stdout()).isEqualTo("begun");
    assertGone(pids);
    assertThat(records("host.exec").getFirst().entry().outcome().cause()).isEqualTo("timed_out");
  }

  @Test
  void aCommandIsNotInTheServersProcessGroup() throws Exception {
    Host host = host(on -> with(on, patterns("perl -e *"), List.of()));
    // A script's usual way to end what it started; only where it is alone in its group.
    String script = "getpgrp() == $$ or die 'with others'; kill 'TERM', -getpgrp(); sleep 9";
    HostResult ended = host.exec(AGENT, command("perl", "-e", script));
    assertThat(ended.stderr()).isEmpty();
    assertThat(ended.code()).isEqualTo(143);
  }

  @Test
  void aCommandHoldsNoMoreThanItMayAndLeavesNoGroup() throws Exception {
    Host host = host(on -> with(on, patterns("perl -e *", "cat *"), List.of()));
    HostGroups groups = HostGroups.find().orElseThrow();
    String forks = "for (1..100) { my $p = fork; last unless defined $p; sleep 600 if !$p; $n++ }";
    HostResult bomb = host.exec(AGENT, command("perl", "-e", forks + " print $n"));
    assertThat(Integer.parseInt(bomb.stdout())).isBetween(1, 15);
    HostResult greedy =
        host.exec(AGENT, command("perl", "-e", "my $x = 'x' x (256 << 20); print length $x"));
    assertThat(greedy.stdout()).isEmpty();
    assertThat(greedy.code()).isEqualTo(137);
    HostResult modest =
        host.exec(AGENT, command("perl", "-e", "my $x = 'x' x (8 << 20); print length $x"));
    assertThat(modest.stdout()).isEqualTo(Integer.toString(8 << 20));
    String pattern = "carrel-host-" + ProcessHandle.current().pid() + "-*";
    for (Path folder : List.of(groups.memory(), groups.processes())) {
      try (DirectoryStream<Path> left = Files.newDirectoryStream(folder, pattern)) {
        assertThat(left).isEmpty();
      }
    }
  }

  private static void assertGone(Path pids) throws IOException {
    long pid = Long.parseLong(Files.readString(pids));
    eventually(() -> ProcessHandle.of(pid).filter(ProcessHandle::isAlive).isEmpty());
  }

  @Test
  void whoGivesUpKillsIt() throws Exception {
    Host host = host(on -> with(on, patterns("sleep *"), List.of()));
    var stopped = new AtomicBoolean();
    Thread caller =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    host.exec(AGENT, command("sleep", "599.25"));
                  } catch (InterruptedException e) {
                    stopped.set(true);
                  }
                });
    eventually(HostIT::sleeps);
    caller.interrupt();
    assertThat(caller.join(Duration.ofSeconds(30))).isTrue();
    assertThat(stopped).isTrue();
    eventually(() -> !sleeps());
  }

  private static boolean sleeps() {
    return ProcessHandle.current()
        .descendants()
        .anyMatch(one -> one.info().commandLine().orElse("").endsWith("sleep 599.25"));
  }

  @Test
  void anApprovalIsForWhatWasApproved() throws Exception {
    Host host = host(on -> with(on, List.of(), on.blocked()));
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command("printf", "a b")));
    refused(ErrorCode.INVALID_INPUT, () -> ask("*", Scope.NAMESPACE));
    refused(ErrorCode.FORBIDDEN, () -> ask("bash -c *", Scope.NAMESPACE));
    approve(ask("printf  'a b'", Scope.ONCE), null);
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command("printf", "a", "b")));
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command("printf", "a b", "c")));
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command("/usr/bin/printf", "a b")));
    var other = new Caller("acme", "other", Role.USER, Set.of(Permission.HOST));
    refused(ErrorCode.FORBIDDEN, () -> host.exec(other, command("printf", "a b")));
    assertThat(host.exec(AGENT, command("printf", "a b")).stdout()).isEqualTo("a b");
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command("printf", "a b")));
    approve(ask("printf *", Scope.NAMESPACE), Duration.ofSeconds(30));
    assertThat(host.exec(other, command("printf", "c")).stdout()).isEqualTo("c");
    var elsewhere =
        new HostCommand(List.of("printf", "c"), null, null, new OnBehalf(null, "another"));
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, elsewhere));
    var stranger = new Caller("evil", "agent", Role.USER, Set.of(Permission.HOST));
    refused(ErrorCode.FORBIDDEN, () -> host.exec(stranger, command("printf", "c")));
  }

  @Test
  void anApprovalEnds() throws Exception {
    Host host = host(on -> with(on, List.of(), on.blocked()));
    approve(ask("printf x", Scope.NAMESPACE), Duration.ofMillis(1));
    eventually(() -> host.access(AGENT).approvals().isEmpty());
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command("printf", "x")));
    Approval taken = ask("printf y", Scope.NAMESPACE);
    approve(taken, null);
    assertThat(host.exec(AGENT, command("printf", "y")).stdout()).isEqualTo("y");
    fixture().control().approvals().withdraw(ADMIN, taken.id());
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command("printf", "y")));
  }

  @Test
  void filesAreThoseOfTheFoldersAndNoLinkLeadsOut() throws Exception {
    Host host = host(on -> on);
    assertThat(read(host, lent.resolve("note"))).isEqualTo("hello");
    Files.createSymbolicLink(lent.resolve("link"), root.resolve("secret"));
    Files.createSymbolicLink(lent.resolve("up"), root);
    Files.createSymbolicLink(open.resolve("up"), root);
    Files.createSymbolicLink(open.resolve("out"), root.resolve("new"));
    refused(ErrorCode.FORBIDDEN, () -> read(host, lent.resolve("link")));
    refused(ErrorCode.FORBIDDEN, () -> read(host, lent.resolve("up/secret")));
    refused(ErrorCode.FORBIDDEN, () -> read(host, root.resolve("secret")));
    refused(ErrorCode.FORBIDDEN, () -> read(host, Path.of("/etc/passwd")));
    refused(ErrorCode.INVALID_INPUT, () -> read(host, Path.of(lent + "/../secret")));
    refused(ErrorCode.INVALID_INPUT, () -> read(host, Path.of("lent/note")));
    refused(ErrorCode.FORBIDDEN, () -> host.list(AGENT, SELF, lent + "/up"));
    refused(
        ErrorCode.FORBIDDEN,
        () -> host.write(AGENT, SELF, open.resolve("up/made").toString(), new byte[1]));
    refused(
        ErrorCode.NOT_A_FILE,
        () -> host.write(AGENT, SELF, open.resolve("out").toString(), new byte[1]));
    refused(
        ErrorCode.FORBIDDEN,
        () -> host.write(AGENT, SELF, lent.resolve("made").toString(), new byte[1]));
    refused(
        ErrorCode.FORBIDDEN,
        () -> host.copy(AGENT, SELF, lent + "/link", open.resolve("made").toString()));
    assertThat(root.resolve("new")).doesNotExist();
    assertThat(root.resolve("made")).doesNotExist();
    assertThat(host.write(AGENT, SELF, open + "/made", "x".getBytes(UTF_8))).isEqualTo(1);
    assertThat(host.copy(AGENT, SELF, lent + "/note", open + "/made")).isEqualTo(5);
    assertThat(open.resolve("made")).hasContent("hello");
    assertThat(host.list(AGENT, SELF, open.toString()).stream().map(HostFile::name))
        .containsExactly("made", "out", "up");
    assertThat(host.list(AGENT, SELF, open.toString()).getLast().kind())
        .isEqualTo(HostFile.Kind.LINK);
  }

  private static String read(Host host, Path path) {
    return new String(host.read(AGENT, SELF, path.toString(), 0, 1000).bytes(), UTF_8);
  }

  @Test
  void whatIsSwappedForALinkMeanwhileIsNotFollowed() throws Exception {
    Host host = host(on -> on);
    Path inner = Files.createDirectory(lent.resolve("inner"));
    Files.writeString(inner.resolve("secret"), "public");
    Path aside = lent.resolve("aside");
    Path file = Files.writeString(lent.resolve("file"), "public");
    Path kept = lent.resolve("kept");
    var stop = new AtomicBoolean();
    Thread swapper =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    while (!stop.get()) {
                      Files.move(inner, aside);
                      Files.createSymbolicLink(inner, root);
                      Files.delete(inner);
                      Files.move(aside, inner);
                      Files.move(file, kept);
                      Files.createSymbolicLink(file, root.resolve("secret"));
                      Files.delete(file);
                      Files.move(kept, file);
                    }
                  } catch (IOException e) {
                    throw new IllegalStateException(e);
                  }
                });
    int found = 0;
    try {
      for (int i = 0; i < 3000; i++) {
        try {
          Path wanted = i % 2 == 0 ? inner.resolve("secret") : file;
          assertThat(read(host, wanted)).isEqualTo("public");
          found++;
        } catch (SandboxException e) {
          assertThat(e.code())
              .isIn(ErrorCode.FILE_NOT_FOUND, ErrorCode.FORBIDDEN, ErrorCode.PERMISSION_DENIED);
        }
      }
    } finally {
      stop.set(true);
      swapper.join();
    }
    assertThat(found).isPositive();
  }

  @Test
  void specialFilesHiddenNamesAndTheServersOwnFolderAreKeptBack() throws Exception {
    Host host =
        host(
            on ->
                new HostSettings(
                    true,
                    patterns("cat *"),
                    on.blocked(),
                    List.of(Path.of("/")),
                    List.of(open),
                    on.hidden(),
                    on.path(),
                    Map.of(),
                    on.timeout(),
                    on.maxTimeout(),
                    on.maxOutput(),
                    on.maxFile(),
                    2,
                    on.maxMemory(),
                    on.maxProcesses()));
    assertThat(read(host, lent.resolve("note"))).isEqualTo("hello");
    for (String path : List.of("/dev/zero", "/proc/self/environ", "/proc/self/mem", "/sys/power")) {
      refused(ErrorCode.FORBIDDEN, () -> read(host, Path.of(path)));
    }
    Path ssh = Files.createDirectory(lent.resolve(".ssh"));
    Files.writeString(ssh.resolve("id"), "canary");
    refused(ErrorCode.FORBIDDEN, () -> read(host, ssh.resolve("id")));
    Path key = fixture().data().resolve("vault.key");
    refused(ErrorCode.FORBIDDEN, () -> read(host, key));
    refused(ErrorCode.FORBIDDEN, () -> ask("@read " + key, Scope.NAMESPACE));
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command("cat", key.toString())));
    assertThat(host.exec(AGENT, command("cat", lent + "/note")).stdout()).isEqualTo("hello");
    Process fifo = new ProcessBuilder("mkfifo", lent.resolve("pipe").toString()).start();
    assertThat(fifo.waitFor(30, TimeUnit.SECONDS)).isTrue();
    refused(ErrorCode.NOT_A_FILE, () -> read(host, lent.resolve("pipe")));
    refused(ErrorCode.NOT_A_DIRECTORY, () -> read(host, lent.resolve("pipe/x")));
    refused(ErrorCode.NOT_A_FILE, () -> read(host, lent));
  }

  @Test
  void aFolderThatIsNamedOverALinkGivesNothingAwayThatIsKeptBack() throws Exception {
    Path link = Files.createSymbolicLink(root.resolve("link"), Path.of("/"));
    Host host = host(on -> withFolders(on, List.of(link), List.of(link)));
    Path note = Path.of("/").relativize(lent.resolve("note"));
    assertThat(read(host, link.resolve(note))).isEqualTo("hello");
    Path own = link.resolve(Path.of("/").relativize(fixture().data()));
    refused(ErrorCode.FORBIDDEN, () -> read(host, own.resolve("vault.key")));
    refused(ErrorCode.FORBIDDEN, () -> host.list(AGENT, SELF, own.toString()));
    refused(
        ErrorCode.FORBIDDEN, () -> host.write(AGENT, SELF, own.resolve("new") + "", new byte[1]));
    refused(
        ErrorCode.FORBIDDEN,
        () -> host.copy(AGENT, SELF, own.resolve("vault.key") + "", open + "/key"));
    refused(ErrorCode.FORBIDDEN, () -> read(host, link.resolve("proc/self/environ")));
    assertThat(open).isEmptyDirectory();
  }

  @Test
  void aFolderThatBecomesALinkGivesNothingAwayThatIsKeptBack() throws Exception {
    Path later = root.resolve("later");
    Host host = host(on -> withFolders(on, List.of(later), List.of()));
    Files.createSymbolicLink(later, fixture().data());
    refused(ErrorCode.FORBIDDEN, () -> read(host, later.resolve("vault.key")));
  }

  @Test
  void sizesAreBounded() throws Exception {
    Host host = host(on -> on);
    Files.write(lent.resolve("big"), new byte[200_000]);
    refused(ErrorCode.TOO_LARGE, () -> host.copy(AGENT, SELF, lent + "/big", open + "/big"));
    refused(ErrorCode.TOO_LARGE, () -> host.write(AGENT, SELF, open + "/big", new byte[200_000]));
    assertThat(open).isEmptyDirectory();
    HostContent part = host.read(AGENT, SELF, lent + "/big", 199_990, 1_000_000);
    assertThat(part.bytes()).hasSize(10);
    assertThat(part.cut()).isFalse();
    HostContent first = host.read(AGENT, SELF, lent + "/big", 0, 1_000_000);
    assertThat(first.bytes()).hasSize(100_000);
    assertThat(first.cut()).isTrue();
  }

  @Test
  void onePathCanBeApprovedAndLinksStayLinks() throws Exception {
    Host host = host(on -> on);
    Path secret = root.resolve("secret");
    approve(ask("@read " + secret, Scope.NAMESPACE), null);
    assertThat(read(host, secret)).isEqualTo("canary");
    refused(ErrorCode.FORBIDDEN, () -> read(host, root.resolve("other")));
    refused(ErrorCode.FORBIDDEN, () -> host.write(AGENT, SELF, secret.toString(), new byte[1]));
    refused(ErrorCode.INVALID_INPUT, () -> ask("@read *", Scope.NAMESPACE));
    refused(ErrorCode.INVALID_INPUT, () -> ask("@erase /x", Scope.NAMESPACE));
    Files.delete(secret);
    Files.createSymbolicLink(secret, Path.of("/etc/passwd"));
    refused(ErrorCode.FORBIDDEN, () -> read(host, secret));
  }

  @Test
  void whereACommandRunsIsAFolderThatIsLentOut() throws Exception {
    Host host = host(on -> with(on, patterns("pwd", "cat *"), List.of()));
    Path inner = Files.createDirectory(lent.resolve("inner"));
    assertThat(host.exec(AGENT, commandIn(inner, "pwd")).stdout()).isEqualTo(inner + "\n");
    Files.createDirectory(lent.resolve(".ssh"));
    Files.createSymbolicLink(lent.resolve("away"), root);
    Files.createSymbolicLink(lent.resolve("keys"), lent.resolve(".ssh"));
    for (Path folder :
        List.of(
            root,
            Path.of("/"),
            Path.of("/proc/self"),
            lent.resolve("away"),
            lent.resolve("keys"),
            lent.resolve(".ssh"),
            lent.resolve("note"),
            lent.resolve("none"))) {
      refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, commandIn(folder, "pwd")));
    }
    refused(
        ErrorCode.INVALID_INPUT, () -> host.exec(AGENT, commandIn(Path.of(lent + "/.."), "pwd")));
  }

  private static HostCommand commandIn(Path folder, String... words) {
    return new HostCommand(List.of(words), folder.toString(), null, SELF);
  }

  @Test
  void aNameThatBeginsAlikeIsAnotherFolder() throws Exception {
    Host host = host(on -> on);
    Path alike = Files.createDirectory(root.resolve("lent-not"));
    Files.writeString(alike.resolve("secret"), "canary");
    refused(ErrorCode.FORBIDDEN, () -> read(host, alike.resolve("secret")));
    refused(ErrorCode.FORBIDDEN, () -> host.list(AGENT, SELF, alike.toString()));
    assertThat(read(host, lent.resolve("note"))).isEqualTo("hello");
  }

  @Test
  void noWordOfACommandLeadsToTheServersOwnFolder() throws Exception {
    Host host = host(on -> with(on, patterns("printf **", "cat *", "carrel **"), List.of()));
    Path data = fixture().data();
    Path link = Files.createSymbolicLink(lent.resolve("link"), data);
    for (String word :
        List.of(
            data.toString(),
            link + "/vault.key",
            "link/vault.key",
            "--file=" + data.resolve("vault.key"),
            lent.relativize(data.resolve("vault.key")).toString())) {
      refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, commandIn(lent, "printf", "%s", word)));
    }
    assertThat(host.exec(AGENT, command("printf", "%s", "--file=x")).stdout())
        .isEqualTo("--file=x");
    // Whoever could run it could decide about its own requests.
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command("carrel", "approvals")));
    refused(ErrorCode.FORBIDDEN, () -> ask("carrel approvals", Scope.NAMESPACE));
  }

  @Test
  void aProgramInAFolderOfEverybodyIsRefused() throws Exception {
    Path folder = Files.createDirectory(root.resolve("bin"));
    Path program = Files.writeString(folder.resolve("tool"), "#!/bin/cat\n");
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxrwxrwx"));
    Path alias = Files.createSymbolicLink(root.resolve("alias"), program);
    Host host = host(on -> with(on, patterns(program.toString(), alias.toString()), List.of()));
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command(program.toString())));
    refused(ErrorCode.FORBIDDEN, () -> host.exec(AGENT, command(alias.toString())));
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
    assertThat(host.exec(AGENT, command(alias.toString())).stdout()).isEqualTo("#!/bin/cat\n");
  }

  @Test
  void timeAndNumberOfCommandsAndLengthOfListsAreTheOperators() throws Exception {
    Host host = host(on -> within(with(on, patterns("sleep *"), List.of()), on.maxTimeout(), 0));
    refused(ErrorCode.LIMIT_REACHED, () -> host.exec(AGENT, command("sleep", "0")));
    Path many = Files.createDirectory(lent.resolve("many"));
    for (int i = 0; i < HostFiles.MAX_LISTED; i++) {
      Files.createFile(many.resolve("f" + i));
    }
    assertThat(host.list(AGENT, SELF, many.toString())).hasSize(HostFiles.MAX_LISTED);
    Files.createFile(many.resolve("more"));
    refused(ErrorCode.TOO_LARGE, () -> host.list(AGENT, SELF, many.toString()));

    Host hasty =
        host(on -> within(with(on, patterns("sleep *"), List.of()), Duration.ofMillis(500), 1));
    assertThat(hasty.exec(AGENT, command("sleep", "600")).timedOut()).isTrue();
    var patient = new HostCommand(List.of("sleep", "600"), null, Duration.ofHours(1), SELF);
    refused(ErrorCode.INVALID_INPUT, () -> hasty.exec(AGENT, patient));
  }

  private static HostSettings within(HostSettings old, Duration most, int atOnce) {
    return new HostSettings(
        old.enabled(),
        old.allowed(),
        old.blocked(),
        old.folders(),
        old.writable(),
        old.hidden(),
        old.path(),
        old.environment(),
        old.timeout(),
        most,
        old.maxOutput(),
        old.maxFile(),
        atOnce,
        old.maxMemory(),
        old.maxProcesses());
  }

  @Test
  void secretsOfTheNamespaceAreTakenOutOfAnswersAndRecords() throws Exception {
    Host host = host(on -> on);
    fixture().control().vault().add(AGENT, null, "TOKEN", "s3cr3t-value-of-length", false);
    Files.writeString(lent.resolve("note"), "it is s3cr3t-value-of-length");
    assertThat(read(host, lent.resolve("note"))).isEqualTo("it is ***REDACTED***" + "*".repeat(8));
    HostResult result = host.exec(AGENT, command("printf", "%s", "s3cr3t-value-of-length"));
    assertThat(result.stdout()).isEqualTo("***REDACTED***");
    assertThat(records("host").toString()).doesNotContain("s3cr3t-value");
    assertThat(records("host.exec").getFirst().entry().subject())
        .isEqualTo("printf %s ***REDACTED***");
  }

  @Test
  void aSecretIsNotReadInParts() throws Exception {
    Host host = host(on -> on);
    String secret = "s3cr3t-value-of-length";
    fixture().control().vault().add(AGENT, null, "TOKEN", secret, false);
    String file = Files.writeString(lent.resolve("note"), "<" + secret + ">").toString();
    for (int step = 1; step < secret.length(); step++) {
      var parts = new StringBuilder();
      for (int at = 0; at < secret.length() + 2; at += step) {
        parts.append(new String(host.read(AGENT, SELF, file, at, step).bytes(), UTF_8));
      }
      assertThat(parts.toString()).isEqualTo("<***REDACTED***" + "*".repeat(8) + ">");
    }
    assertThat(host.read(AGENT, SELF, file, 1000, 10).bytes()).isEmpty();
    assertThat(host.read(AGENT, SELF, file, 0, 5).cut()).isTrue();
  }

  @Test
  void aVariableOfTheServerThatIsNoSecretStopsNobody() throws Exception {
    var variables =
        Map.of(
            "CARREL_SECRET_DEFAULT_SHORTY", "abc", "CARREL_SECRET_DEFAULT_LONG", "s3cr3t-of-env");
    Host host = host(on -> on, settings -> settings.withVault(new VaultSettings(null, variables)));
    var operator = new Caller("default", "agent", Role.USER, Set.of(Permission.HOST));
    Files.writeString(lent.resolve("note"), "abc s3cr3t-of-env");
    assertThat(new String(host.read(operator, SELF, lent + "/note", 0, 100).bytes(), UTF_8))
        .isEqualTo("abc " + "*".repeat(13));
    host.write(operator, SELF, open + "/new", new byte[3]);
    assertThat(records("host.write")).hasSize(1);
  }

  @Test
  void anApprovalForOnceIsNotUsedUpByWhoFindsNoPlace() throws Exception {
    Host full = host(on -> within(with(on, List.of(), List.of()), on.maxTimeout(), 0));
    approve(ask("uname -r", Scope.ONCE), null);
    for (int i = 0; i < 2; i++) {
      refused(ErrorCode.LIMIT_REACHED, () -> full.exec(AGENT, command("uname", "-r")));
    }
    assertThat(full.access(AGENT).approvals()).hasSize(1);
  }

  @Test
  void aFileThatIsReplacedStaysWhoseItWas() throws Exception {
    Host host = host(on -> on);
    Path file = Files.writeString(open.resolve("script"), "old");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxrwx-w-"));
    host.write(AGENT, SELF, file.toString(), "new".getBytes(UTF_8));
    assertThat(file).hasContent("new");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rwxrwx-w-");
    assertThat(open.toFile().list()).containsExactly("script");
  }
}
