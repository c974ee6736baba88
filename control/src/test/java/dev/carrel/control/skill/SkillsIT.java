package dev.carrel.control.skill;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.Control;
import dev.carrel.control.ControlFixture;
import dev.carrel.control.audit.AuditQuery;
import dev.carrel.control.event.Event;
import dev.carrel.control.event.EventFilter;
import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.WriteFile;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Skills in the store and in sandboxes, and who may not have them. */
@SuppressWarnings("NullAway") // set before each test
class SkillsIT {
  private ControlFixture fixture;
  private Control control;
  private Skills skills;

  @BeforeEach
  void start() throws IOException {
    fixture = new ControlFixture();
    control = fixture.control();
    skills = control.skills();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void anUploadIsAVersionUnlessItIsTheSame() throws Exception {
    Upload first = upload(ALICE, "one");
    assertThat(first.change()).isEqualTo(Upload.Change.ADDED);
    assertThat(first.skill().version()).isEqualTo(1);

    assertThat(upload(ALICE, "one")).isEqualTo(new Upload(first.skill(), Upload.Change.NONE));

    Upload second = upload(ALICE, "two");
    assertThat(second.change()).isEqualTo(Upload.Change.UPDATED);
    assertThat(second.skill().id()).isEqualTo(first.skill().id());
    assertThat(second.skill().version()).isEqualTo(2);
    assertThat(skills.list(ALICE)).containsExactly(second.skill());
    assertThat(text(skills.read(ALICE, "greet", "scripts/say.sh"))).isEqualTo("two");

    assertThat(kinds()).containsExactly(Event.SKILL_ADDED, Event.SKILL_UPDATED);
    assertThat(actions()).containsExactly("skill.add", "skill.update");
  }

  @Test
  void itOutlivesTheServer() throws Exception {
    Skill skill = upload(ALICE, "one").skill();
    Control next = fixture.restart();
    assertThat(next.skills().get(ALICE, "greet").digest()).isEqualTo(skill.digest());
    assertThat(next.skills().files(ALICE, skill.id().value())).hasSize(2);
  }

  @Test
  void anotherTenantSeesNothing() throws Exception {
    Skill skill = upload(ALICE, "one").skill();
    SandboxId sandbox = fixture.sandbox().id();
    for (String reference : List.of(skill.id().value(), skill.name())) {
      absent(() -> skills.get(MALLORY, reference));
      absent(() -> skills.files(MALLORY, reference));
      absent(() -> skills.read(MALLORY, reference, Skill.MAIN));
      absent(() -> skills.delete(MALLORY, reference));
    }
    assertThat(skills.list(MALLORY)).isEmpty();
    // The same name is another skill there, and takes no place here.
    assertThat(upload(MALLORY, "evil").skill().version()).isEqualTo(1);
    assertThat(text(skills.read(ALICE, "greet", "scripts/say.sh"))).isEqualTo("one");
    refused(ErrorCode.SANDBOX_NOT_FOUND, () -> skills.install(MALLORY, sandbox, List.of("greet")));
    assertThat(skills.install(ALICE, sandbox, List.of(skills.get(MALLORY, "greet").id().value())))
        .satisfies(done -> assertThat(done.notFound()).hasSize(1));
    skills.delete(MALLORY, "greet");
  }

  @Test
  void installingTwiceDoesNothingAndSaysSo() throws Exception {
    Skill skill = upload(ALICE, "one").skill();
    SandboxId sandbox = fixture.sandbox().id();

    Installation first =
        skills.install(ALICE, sandbox, List.of(skill.id().value(), "greet", "none"));
    assertThat(first.installed())
        .singleElement()
        .satisfies(
            one -> {
              assertThat(one.digest()).isEqualTo(skill.digest());
              assertThat(one.path()).isEqualTo("/workspace/skills/greet");
            });
    assertThat(first.already()).hasSize(1);
    assertThat(first.notFound()).containsExactly("none");
    assertThat(read(sandbox, "skills/greet/scripts/say.sh")).isEqualTo("one");
    assertThat(control.files().stat(ALICE, sandbox, "skills/greet/scripts/say.sh").mode() & 0777)
        .isEqualTo(0644);

    String changed = control.files().stat(ALICE, sandbox, "skills/greet").etag();
    Installation again = skills.install(ALICE, sandbox, List.of("greet"));
    assertThat(again.installed()).isEmpty();
    assertThat(again.already()).isEqualTo(first.installed());
    assertThat(control.files().stat(ALICE, sandbox, "skills/greet").etag()).isEqualTo(changed);
    assertThat(kinds()).containsOnlyOnce(Event.SKILL_INSTALLED);
  }

  @Test
  void anotherVersionReplacesTheFormerOneWhole() throws Exception {
    upload(ALICE, "one");
    SandboxId sandbox = fixture.sandbox().id();
    skills.install(ALICE, sandbox, List.of("greet"));
    write(sandbox, "skills/greet/scripts/stale", "of the agent");
    upload(ALICE, "two");

    Installation done = skills.install(ALICE, sandbox, List.of("greet"));

    assertThat(done.installed())
        .singleElement()
        .satisfies(one -> assertThat(one.version()).isEqualTo(2));
    assertThat(read(sandbox, "skills/greet/scripts/say.sh")).isEqualTo("two");
    assertThat(names(sandbox, "skills/greet/scripts")).containsExactly("say.sh");
    assertThat(names(sandbox, "skills")).as("nothing is left beside it").containsExactly("greet");
    assertThat(skills.installed(ALICE, sandbox)).isEqualTo(done.installed());
  }

  @Test
  void whoReadsMeanwhileAlwaysFindsOneOfTheTwo() throws Exception {
    upload(ALICE, "one");
    SandboxId sandbox = fixture.sandbox().id();
    skills.install(ALICE, sandbox, List.of("greet"));
    var over = new AtomicBoolean();
    var wrong = new java.util.concurrent.ConcurrentLinkedQueue<String>();
    Thread reader =
        Thread.ofVirtual()
            .start(
                () -> {
                  while (!over.get()) {
                    try {
                      String now = readMeanwhile(sandbox, "skills/greet/scripts/say.sh");
                      if (!now.equals("one") && !now.equals("two")) {
                        wrong.add(now);
                      }
                    } catch (SandboxException | IOException e) {
                      wrong.add(String.valueOf(e.getMessage()));
                    }
                  }
                });
    for (int i = 0; i < 20; i++) {
      upload(ALICE, i % 2 == 0 ? "two" : "one");
      assertThat(skills.install(ALICE, sandbox, List.of("greet")).installed()).hasSize(1);
    }
    over.set(true);
    reader.join();
    assertThat(wrong).isEmpty();
  }

  @Test
  void whatTheSandboxLostIsInstalledAgain() throws Exception {
    upload(ALICE, "one");
    SandboxId sandbox = fixture.sandbox().id();
    skills.install(ALICE, sandbox, List.of("greet"));
    control.files().remove(ALICE, sandbox, "skills/greet/SKILL.md", false, false);
    assertThat(skills.install(ALICE, sandbox, List.of("greet")).installed()).hasSize(1);
    control.files().remove(ALICE, sandbox, "skills", true, false);
    assertThat(skills.install(ALICE, sandbox, List.of("greet")).installed()).hasSize(1);
    // A file where the folder should be, and a folder that is none.
    control.files().remove(ALICE, sandbox, "skills/greet", true, false);
    write(sandbox, "skills/greet", "in the way");
    assertThat(skills.install(ALICE, sandbox, List.of("greet")).installed()).hasSize(1);
    assertThat(read(sandbox, "skills/greet/scripts/say.sh")).isEqualTo("one");
    control.files().remove(ALICE, sandbox, "skills", true, false);
    write(sandbox, "skills", "in the way");
    Installation failed = skills.install(ALICE, sandbox, List.of("greet"));
    assertThat(failed.failed())
        .singleElement()
        .satisfies(one -> assertThat(one.cause().code()).isEqualTo(ErrorCode.NOT_A_DIRECTORY));
    assertThat(read(sandbox, "skills")).isEqualTo("in the way");
  }

  @Test
  void aSandboxKeepsWhatIsDeletedAndTakesItsRowsAlong() throws Exception {
    upload(ALICE, "one");
    SandboxId sandbox = fixture.sandbox().id();
    skills.install(ALICE, sandbox, List.of("greet"));
    skills.delete(ALICE, "greet");
    absent(() -> skills.get(ALICE, "greet"));
    assertThat(skills.installed(ALICE, sandbox)).hasSize(1);
    assertThat(read(sandbox, "skills/greet/SKILL.md")).contains("name: greet");
    control.sandboxes().delete(ALICE, sandbox);
    assertThat(skills.of(List.of())).isEmpty();
    refused(ErrorCode.SANDBOX_NOT_FOUND, () -> skills.installed(ALICE, sandbox));
  }

  @Test
  void whoCancelsAnInstallLeavesNothingBehind() throws Exception {
    var files = new ArrayList<>(List.of("SKILL.md", Packed.main("long", "Has many files.")));
    for (int i = 0; i < 900; i++) {
      files.addAll(List.of("file" + i, "content"));
    }
    upload(ALICE, "long.zip", Packed.zip(files.toArray(String[]::new)));
    SandboxId sandbox = fixture.sandbox().id();
    control.files().mkdir(ALICE, sandbox, "skills", true);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Installation> installing =
          threads.submit(() -> skills.install(ALICE, sandbox, List.of("long")));
      ControlFixture.eventually(() -> !names(sandbox, "skills").isEmpty());
      installing.cancel(true);
    }
    assertThat(names(sandbox, "skills")).isEmpty();
  }

  @Test
  void guestsThatStandStillKeepNoOtherTenantWaiting() throws Exception {
    fixture.close();
    var guests = new StandingGuests();
    fixture = new ControlFixture("process", settings -> settings, guests::around);
    control = fixture.control();
    skills = control.skills();
    upload(ALICE, "one");
    upload(MALLORY, "evil");
    SandboxId quick = fixture.sandbox().id();
    List<SandboxId> standing =
        Stream.generate(() -> control.sandboxes().create(MALLORY, CreateSandbox.defaults()).id())
            .limit(4)
            .toList();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      guests.stand(standing);
      List<Future<Installation>> held =
          standing.stream()
              .map(id -> threads.submit(() -> skills.install(MALLORY, id, List.of("greet"))))
              .toList();
      ControlFixture.eventually(() -> guests.waiting() == held.size());
      assertThat(skills.install(ALICE, quick, List.of("greet")).installed()).hasSize(1);
      assertThat(guests.givenUp()).as("whom it had to wait for").isZero();
      guests.goOn();
    } finally {
      guests.goOn();
      standing.forEach(id -> control.sandboxes().delete(MALLORY, id));
    }
  }

  @Test
  void aRefusedUploadLeavesNothing() throws Exception {
    refused(
        ErrorCode.INVALID_INPUT,
        () ->
            upload(ALICE, "evil.zip", Packed.zip("SKILL.md", Packed.main("a", "b"), "../x", "y")));
    refused(ErrorCode.TOO_LARGE, () -> upload(ALICE, "big.md", new byte[(16 << 20) + 1]));
    assertThat(skills.list(ALICE)).isEmpty();
    try (var left = java.nio.file.Files.list(fixture.data().resolve("skills"))) {
      assertThat(left).isEmpty();
    }
    assertThat(kinds()).isEmpty();
  }

  private Upload upload(Caller caller, String content) throws Exception {
    return upload(
        caller,
        "greet.zip",
        Packed.zip(
            "greet/SKILL.md",
            Packed.main("greet", "Says hello."),
            "greet/scripts/say.sh",
            content));
  }

  private Upload upload(Caller caller, String name, byte[] bytes) throws Exception {
    return skills.upload(caller, name, new ByteArrayInputStream(bytes));
  }

  private List<String> kinds() {
    return control
        .sandboxes()
        .recentEvents(ALICE, EventFilter.of(null).withKinds(java.util.Set.of("skill")), 100)
        .stream()
        .map(Event::kind)
        .toList();
  }

  private List<String> actions() {
    return control
        .audit()
        .page(ALICE, new AuditQuery(null, null, "skill", null, null, null, 100))
        .stream()
        .map(record -> record.entry().action())
        .toList()
        .reversed();
  }

  private void write(SandboxId sandbox, String path, String text) throws IOException {
    control
        .files()
        .write(
            ALICE,
            sandbox,
            path,
            new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)),
            WriteFile.plain());
  }

  /** Who had found the old folder when the new one came finds it empty; the next look tells. */
  private String readMeanwhile(SandboxId sandbox, String path) throws IOException {
    try {
      return read(sandbox, path);
    } catch (SandboxException e) {
      if (e.code() != ErrorCode.FILE_NOT_FOUND) {
        throw e;
      }
      return read(sandbox, path);
    }
  }

  private String read(SandboxId sandbox, String path) throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (FileDownload file = control.files().read(ALICE, sandbox, path, null)) {
      file.transferTo(bytes);
    }
    return text(bytes.toByteArray());
  }

  private List<String> names(SandboxId sandbox, String path) {
    return control.files().list(ALICE, sandbox, path, 1, 100).entries().stream()
        .map(entry -> entry.name())
        .toList();
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static void absent(ThrowingCallable call) {
    refused(ErrorCode.SKILL_NOT_FOUND, call);
  }

  private static void refused(ErrorCode code, ThrowingCallable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call)
        .satisfies(e -> assertThat(e.code()).isEqualTo(code));
  }
}
