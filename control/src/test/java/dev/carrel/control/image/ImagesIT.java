package dev.carrel.control.image;

import static dev.carrel.control.ControlFixture.ALICE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.sun.net.httpserver.HttpServer;
import dev.carrel.control.ControlFixture;
import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.RootChanges;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.image.BuildOrder;
import dev.carrel.image.Reference;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.Rootfs;
import dev.carrel.spi.SandboxException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Images that come to a running server, and sandboxes on them. */
final class ImagesIT {
  private static final Caller ADMIN = new Caller("default", "admin", Caller.Role.ADMIN);

  @TempDir private Path temporary;
  private ControlFixture fixture;

  @BeforeEach
  void open() throws IOException {
    fixture = new ControlFixture("native", settings -> settings);
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void sandboxStartsOnAnImportedImageWithoutACopyOfIt() throws Exception {
    Image image = load("team/small:1", "etc/greeting", "hello");

    assertThat(image.status()).isEqualTo(Image.Status.READY);
    assertThat(image.languages()).isEqualTo(Set.of(Language.BASH));
    Sandbox sandbox = sandbox("team/small:1");
    assertThat(run(sandbox, "cat /etc/greeting; ls /usr")).startsWith("hello");
    Path file = root(image).resolve("etc/greeting");
    assertThat(run(sandbox, "stat -c '%i %h' /etc/greeting").strip())
        .as("the same file as in the store")
        .isEqualTo(Files.getAttribute(file, "unix:ino") + " 2");
    assertThat(run(sandbox, "echo x > /etc/greeting; echo x > /new; cat /etc/greeting"))
        .isEqualTo("hello");
  }

  @Test
  void contextsUseTheInterpretersOfTheImage() throws Exception {
    load("small", "etc/greeting", "hello from the image");
    Sandbox sandbox = sandbox("small");

    assertThat(execute(sandbox, Language.BASH, "cat /etc/greeting").stdout().text())
        .isEqualTo("hello from the image");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> execute(sandbox, Language.PYTHON, "1"))
        .matches(e -> e.code() == ErrorCode.LANGUAGE_NOT_AVAILABLE);
  }

  @Test
  void imagesOutliveTheServer() throws Exception {
    Image before = load("small", "etc/greeting", "hello");
    fixture.restart();

    assertThat(images().get("small")).isEqualTo(before);
    assertThat(run(sandbox("small"), "cat /etc/greeting")).isEqualTo("hello");
  }

  @Test
  void imageInUseStaysAndTheRestGoes() throws Exception {
    Image image = load("small", "etc/greeting", "hello");
    Sandbox sandbox = sandbox("small");

    assertCode(ErrorCode.WRONG_STATE, () -> images().delete(ADMIN, "small"));
    assertThat(images().prune(ADMIN, true).removed()).isEmpty();
    fixture.control().sandboxes().stop(ALICE, sandbox.id());
    assertCode(ErrorCode.WRONG_STATE, () -> images().delete(ADMIN, "small"));
    fixture.control().sandboxes().delete(ALICE, sandbox.id());
    assertThat(images().diskUse()).isEqualTo(image.bytes());
    images().delete(ADMIN, "small");

    assertCode(ErrorCode.IMAGE_NOT_FOUND, () -> sandbox("small"));
    assertThat(images().diskUse()).isZero();
  }

  @Test
  void runningSandboxKeepsTheRootItStartedOn() throws Exception {
    Image first = load("small", "etc/greeting", "first");
    Sandbox old = sandbox("small");
    Image second = load("small", "etc/greeting", "second");
    images().prune(ADMIN, false);

    assertThat(second.digest()).isNotEqualTo(first.digest());
    assertThat(run(old, "cat /etc/greeting")).isEqualTo("first");
    assertThat(run(sandbox("small"), "cat /etc/greeting")).isEqualTo("second");
    assertThat(root(first)).exists();
  }

  @Test
  void failedImportSaysWhyAndLeavesWhatWasThere() throws Exception {
    Image good = load("small", "etc/greeting", "hello");
    InputStream bad = new ByteArrayInputStream(new byte[1024]);

    assertCode(ErrorCode.IMAGE_INVALID, () -> images().importArchive(ADMIN, "small", bad, null));
    Image after = images().get("small");

    assertThat(after.status()).isEqualTo(Image.Status.FAILED);
    assertThat(after.failure()).contains("neither an OCI layout");
    assertThat(after.digest()).isEqualTo(good.digest());
    assertThat(images().log("small")).contains("receiving").contains("neither an OCI layout");
    assertThat(run(sandbox("small"), "cat /etc/greeting")).isEqualTo("hello");
  }

  @Test
  void exportedImageCanBeImportedAgain() throws Exception {
    Image image = load("small", "etc/greeting", "hello");
    var out = new ByteArrayOutputStream();
    images().export(ADMIN, image, out);
    images().importArchive(ADMIN, "again", new ByteArrayInputStream(out.toByteArray()), null);

    assertThat(run(sandbox("again"), "cat /etc/greeting")).isEqualTo("hello");
  }

  @Test
  void committedImageHasTheChangesOnTopOfSharedLayers() throws Exception {
    Image base = load("small", "etc/greeting", "hello");
    Sandbox sandbox = overlay("small");
    run(sandbox, "rm -r /etc/passwd /usr/bin/stat; echo new > /etc/new; mkfifo /srv-pipe");
    run(sandbox, "rm -r /etc; mkdir /etc; echo again > /etc/again; echo w > /workspace/w");

    Image made = commit(sandbox, "team/changed:1");
    assertThat(made.status()).as("%s", made.failure()).isEqualTo(Image.Status.READY);
    assertThat(made.source()).isEqualTo(Image.Source.SANDBOX);
    assertThat(made.layers()).startsWith(base.layers().getFirst()).hasSize(2);
    assertThat(run(sandbox("team/changed:1"), "ls -A /etc /workspace; ls /usr/bin/stat /srv-pipe"))
        .isEqualTo("/etc:\nagain\n\n/workspace:\n");
    assertThat(run(sandbox("small"), "cat /etc/greeting; ls /usr/bin/stat"))
        .as("the image below is as it was")
        .isEqualTo("hello/usr/bin/stat\n");
    fixture.control().sandboxes().stop(ALICE, sandbox.id());
    assertThat(commit(sandbox, "stopped").digest()).isEqualTo(made.digest());
  }

  @Test
  void changesGoOnTheLayersThatTheirSandboxRunsOn() throws Exception {
    Image first = load("small", "etc/first", "1");
    Sandbox sandbox = overlay("small");
    run(sandbox, "echo new > /etc/new");
    Image second = load("small", "etc/second", "2");

    assertThat(commit(sandbox, "on-first").layers()).startsWith(first.layers().getFirst());
    assertThat(run(sandbox("on-first"), "cd /etc; ls first second new")).isEqualTo("first\nnew\n");
    fixture.control().sandboxes().stop(ALICE, sandbox.id());
    fixture.control().sandboxes().start(ALICE, sandbox.id());
    assertThat(commit(sandbox, "on-second").layers()).startsWith(second.layers().getFirst());
  }

  @Test
  void whatCannotBeCommittedIsRefused() throws Exception {
    load("small", "etc/greeting", "hello");
    Sandbox plain = sandbox("small");
    Sandbox hostile = overlay("small");
    run(hostile, "echo > /etc/.wh.passwd");

    assertCode(ErrorCode.WRONG_STATE, () -> commit(plain, "plain"));
    Image refused = commit(hostile, "refused");
    assertThat(refused.status()).isEqualTo(Image.Status.FAILED);
    assertThat(refused.failure()).contains("would mean a removal");
    assertCode(ErrorCode.FORBIDDEN, () -> images().commit(ALICE, changes(hostile), "mine"));
    assertCode(ErrorCode.INVALID_INPUT, () -> images().commit(ADMIN, changes(hostile), "python"));
  }

  private Image commit(Sandbox sandbox, String name) throws Exception {
    Image begun = images().commit(ADMIN, changes(sandbox), name);
    ImageProgress seen = ImageProgress.NONE;
    while (!seen.ended()) {
      seen = images().progress(begun.name(), seen, Duration.ofSeconds(5));
    }
    return images().get(name);
  }

  private RootChanges changes(Sandbox sandbox) {
    return fixture.control().sandboxes().snapshots().changes(ADMIN, sandbox.id());
  }

  private Sandbox overlay(String image) {
    return fixture
        .control()
        .sandboxes()
        .create(
            ALICE,
            CreateSandbox.defaults()
                .withImage(image)
                .withStorage(new CreateSandbox.Storage(null, null, null, Rootfs.OVERLAY)));
  }

  @Test
  void pullGoesOnByItselfAndSaysHowItEnded() throws Exception {
    // Nobody listens there.
    Reference nowhere = Reference.parse("127.0.0.1:1/team/tools:1");
    Image begun = images().pull(ADMIN, nowhere, null);
    ImageProgress seen = ImageProgress.NONE;
    while (!seen.ended()) {
      seen = images().progress(begun.name(), seen, Duration.ofSeconds(5));
    }
    Image ended = images().get("127.0.0.1:1/team/tools:1");

    assertThat(begun.source()).isEqualTo(Image.Source.REGISTRY);
    assertThat(ended.status()).isEqualTo(Image.Status.FAILED);
    assertThat(ended.failure()).contains("no answer from 127.0.0.1:1");
    assertThat(images().log(ended.name())).contains("asking 127.0.0.1:1");
    assertCode(ErrorCode.IMAGE_NOT_FOUND, () -> sandbox(ended.name()));
    assertThat(images().prune(ADMIN, false).removed()).containsExactly(ended.name());
  }

  @Test
  void noRegistryLeadsTheServerIntoNetworksOfItsOwn() throws Exception {
    var registry =
        HttpServer.create(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0), 0);
    try (var inside = new ServerSocket(0, 50, InetAddress.ofLiteral("127.0.0.2"))) {
      registry.createContext(
          "/v2/",
          exchange -> {
            String realm = "https://127.0.0.2:" + inside.getLocalPort() + "/token";
            exchange.getResponseHeaders().set("WWW-Authenticate", "Bearer realm=\"" + realm + "\"");
            exchange.sendResponseHeaders(401, -1);
            exchange.close();
          });
      registry.start();
      String name = "127.0.0.1:" + registry.getAddress().getPort() + "/team/tools:1";

      images().pull(ADMIN, Reference.parse(name), null);
      ImageProgress seen = ImageProgress.NONE;
      while (!seen.ended()) {
        seen = images().progress(name, seen, Duration.ofSeconds(5));
      }

      assertThat(images().get(name).failure())
          .contains("127.0.0.2", "loopback", "egress.allow-private");
      inside.setSoTimeout(1);
      assertThatExceptionOfType(SocketTimeoutException.class).isThrownBy(inside::accept);
    } finally {
      registry.stop(0);
    }
  }

  @Test
  void catalogIsListedBeforeItIsBuilt() {
    Image python = images().get("python");

    assertThat(python.status()).isEqualTo(Image.Status.AVAILABLE);
    assertThat(python.usable()).isFalse();
    assertCode(ErrorCode.IMAGE_NOT_FOUND, () -> sandbox("python"));
    assertCode(
        ErrorCode.IMAGE_NOT_FOUND, () -> images().build(ADMIN, "no-such-image", BuildOrder.NEWEST));
    assertCode(ErrorCode.FORBIDDEN, () -> images().build(ALICE, "python", BuildOrder.NEWEST));
    assertCode(ErrorCode.WRONG_STATE, () -> images().delete(ADMIN, "python"));
    assertCode(
        ErrorCode.INVALID_INPUT,
        () -> images().importArchive(ADMIN, "python", InputStream.nullInputStream(), null));
  }

  @Test
  void onlyAdministratorsChangeImages() throws Exception {
    Image image = load("small", "etc/greeting", "hello");

    assertCode(ErrorCode.FORBIDDEN, () -> images().delete(ALICE, "small"));
    assertCode(ErrorCode.FORBIDDEN, () -> images().prune(ALICE, true));
    assertCode(
        ErrorCode.FORBIDDEN, () -> images().export(ALICE, image, new ByteArrayOutputStream()));
    assertCode(
        ErrorCode.FORBIDDEN,
        () -> images().importArchive(ALICE, "x", InputStream.nullInputStream(), null));
  }

  @Test
  void namesThatCouldMeanSomethingElseAreRefused() {
    for (String name : List.of("host", "", "../x", "a b", "A", "x".repeat(300), "-x")) {
      assertCode(
          ErrorCode.INVALID_INPUT,
          () -> images().importArchive(ADMIN, name, InputStream.nullInputStream(), null));
    }
    assertThat(images().list())
        .filteredOn(image -> image.source() != Image.Source.CATALOG)
        .extracting(Image::name)
        .containsExactly("host");
    assertThat(images().get("host").languages()).contains(Language.BASH);
  }

  private Image load(String name, String file, String content) throws Exception {
    Path folder = Files.createTempDirectory(temporary, "image");
    Path archive = new SmallImage(folder).with(file, content).saved();
    try (InputStream in = Files.newInputStream(archive)) {
      return images().importArchive(ADMIN, name, in, null);
    }
  }

  private Path root(Image image) {
    String hex = Objects.requireNonNull(image.digest()).hex();
    return fixture.data().resolve("images/roots").resolve(hex);
  }

  private Images images() {
    return fixture.control().images();
  }

  private Sandbox sandbox(String image) {
    return fixture.control().sandboxes().create(ALICE, CreateSandbox.defaults().withImage(image));
  }

  private String run(Sandbox sandbox, String line) throws Exception {
    var command =
        new Command(List.of("sh", "-c", line), Map.of(), null, null, Duration.ofSeconds(30), true);
    ExecResult result = fixture.control().execs().run(ALICE, sandbox.id(), ExecStart.of(command));
    return result.stdout().text();
  }

  private CodeResult execute(Sandbox sandbox, Language language, String code) throws Exception {
    return fixture
        .control()
        .contexts()
        .execute(ALICE, sandbox.id(), new ExecuteCode(code, language, null, null));
  }

  private static void assertCode(ErrorCode code, ThrowingCallable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call)
        .matches(e -> e.code() == code, code.name());
  }
}
