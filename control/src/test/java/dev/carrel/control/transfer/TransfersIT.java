package dev.carrel.control.transfer;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.sun.net.httpserver.HttpServer;
import dev.carrel.control.Control;
import dev.carrel.control.ControlFixture;
import dev.carrel.control.ControlSettings;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.files.ArchiveFormat;
import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.FileSettings;
import dev.carrel.control.files.WriteFile;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.egress.Host;
import dev.carrel.egress.Policy;
import dev.carrel.egress.Rule;
import dev.carrel.engine.testkit.Eventually;
import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files in and out, and who may not have them. Cases C04, C07, F01 to F03, F06, F09. */
@SuppressWarnings("NullAway") // set before each test
class TransfersIT {
  private static final String SITE = "site.example.net";
  private static final Caller BOB = Caller.user("acme", "bob");

  @TempDir private Path host;
  private Path open;
  private HttpServer site;
  private ControlFixture fixture;
  private Control control;
  private SandboxId sandbox;

  @BeforeEach
  void start() throws IOException {
    open = Files.createDirectory(host.resolve("open")).toRealPath();
    Files.writeString(host.resolve("secret"), "canary");
    site = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    site.createContext(
        "/",
        exchange -> {
          boolean away = exchange.getRequestURI().getPath().equals("/away");
          if (away) {
            exchange.getResponseHeaders().add("Location", "http://other.example.net/x");
          }
          byte[] body = "from the web".getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(away ? 302 : 200, away ? -1 : body.length);
          if (!away) {
            exchange.getResponseBody().write(body);
          }
          exchange.close();
        });
    site.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    site.start();
    fixture = new ControlFixture(this::settings);
    control = fixture.control();
    sandbox = fixture.sandbox().id();
  }

  private ControlSettings settings(ControlSettings usual) {
    return usual
        .withFiles(
            new FileSettings(
                DataSize.ofMebibytes(4), 10, 10, FileSettings.MOST, DataSize.ofMebibytes(4)))
        .withNetwork(
            usual
                .network()
                .withProxy(
                    usual
                        .network()
                        .proxy()
                        .withPinned(
                            Map.of(Host.parse(SITE), List.of(InetAddress.getLoopbackAddress())))))
        .withTransfers(
            TransferSettings.defaults()
                .withHostFolders(List.of(open))
                .withMost(DataSize.ofMebibytes(4), 50, 50));
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
    site.stop(0);
  }

  @Test
  void textComesWhereItIsWanted() throws Exception {
    Imported done =
        bring(new ImportFile.Inline("a.txt", "hi".getBytes(StandardCharsets.UTF_8)), "d/b.txt");
    assertThat(done.failure()).isNull();
    assertThat(done.destination()).isEqualTo("/workspace/d/b.txt");
    assertThat(done.size()).isEqualTo(2);
    assertThat(read("d/b.txt")).isEqualTo("hi");
  }

  @Test
  void aFolderOfTheHostComesWithoutItsLinks() throws Exception {
    Path data = Files.createDirectories(open.resolve("data/deep"));
    Files.writeString(data.resolve("f"), "1");
    Files.createSymbolicLink(data.resolve("out"), host.resolve("secret"));
    Files.createSymbolicLink(open.resolve("data/up"), host);

    Imported done = bring(new ImportFile.OnHost(open.resolve("data").toString()), null);

    assertThat(done.failure()).isNull();
    assertThat(done.skipped()).isEqualTo(2);
    assertThat(read("data/deep/f")).isEqualTo("1");
    assertThat(paths("data")).noneMatch(path -> path.endsWith("out") || path.endsWith("up"));
  }

  @Test
  void nothingOutsideTheOpenFoldersIsRead() throws Exception {
    Files.createSymbolicLink(open.resolve("link"), host.resolve("secret"));
    Files.createSymbolicLink(open.resolve("folder"), host);
    for (String source :
        List.of(
            host.resolve("secret").toString(),
            open + "/../secret",
            open.resolve("link").toString(),
            open.resolve("folder/secret").toString(),
            "/proc/self/environ",
            fixture.data().resolve("carrel.db").toString(),
            "open/secret",
            open + "x")) {
      Imported done = bring(new ImportFile.OnHost(source), "got");
      assertThat(done.success()).as(source).isFalse();
      assertThat(done.failure().message()).doesNotContain("canary");
    }
    assertThat(paths(".")).noneMatch(path -> path.endsWith("got"));
  }

  @Test
  void aFolderThatBecomesALinkMeanwhileLeadsNowhere() throws Exception {
    Path folder = Files.createDirectory(open.resolve("swap"));
    Path aside = open.resolve("aside");
    Files.writeString(folder.resolve("secret"), "plain");
    var stop = new AtomicBoolean();
    Thread swapping =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (!stop.get()) {
                    try {
                      Files.move(folder, aside);
                      Files.createSymbolicLink(folder, host);
                      Files.delete(folder);
                      Files.move(aside, folder);
                    } catch (IOException e) {
                      throw new java.io.UncheckedIOException(e);
                    }
                  }
                });
    try {
      for (int i = 0; i < 300; i++) {
        Imported done =
            bring(new ImportFile.OnHost(folder.resolve("secret").toString()), "swapped");
        if (done.success()) {
          assertThat(read("swapped")).isEqualTo("plain");
        }
      }
    } finally {
      stop.set(true);
      swapping.join();
    }
  }

  @Test
  void theServersOwnDataIsNeverAnOpenFolder() {
    for (Path folder : List.of(fixture.data(), fixture.data().getParent(), Path.of("/"))) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> new HostFolders(List.of(folder), fixture.data()))
          .withMessageContaining("own data");
    }
  }

  @Test
  void anAddressIsFetchedOnlyAsThePolicySays() throws Exception {
    String url = "http://" + SITE + ":" + site.getAddress().getPort();
    Imported refused = bring(new ImportFile.Address(url + "/a.csv?x=1"), null);
    assertThat(refused.failure().code()).isEqualTo(ErrorCode.EGRESS_DENIED);

    sandbox = allowed(SITE + ":" + site.getAddress().getPort());
    Imported done = bring(new ImportFile.Address(url + "/a.csv?x=1"), null);
    assertThat(done.failure()).isNull();
    assertThat(read("a.csv")).isEqualTo("from the web");
    for (String bad :
        List.of(
            url + "/away",
            "http://169.254.169.254/latest/meta-data",
            "http://127.0.0.1:" + site.getAddress().getPort() + "/",
            "file:///etc/passwd")) {
      assertThat(bring(new ImportFile.Address(bad), "x").success()).as(bad).isFalse();
    }
  }

  @Test
  void whatIsFetchedIsOnTheDiskAndSlowAddressesKeepNobodyWaiting() throws Exception {
    String url = "http://" + SITE + ":" + site.getAddress().getPort();
    sandbox = allowed(SITE + ":" + site.getAddress().getPort());
    var go = new CountDownLatch(1);
    byte[] part = new byte[1 << 20];
    site.createContext(
        "/slow",
        exchange -> {
          exchange.sendResponseHeaders(200, 2L * part.length);
          exchange.getResponseBody().write(part);
          exchange.getResponseBody().flush();
          try (exchange) {
            go.await();
            exchange.getResponseBody().write(part);
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        });
    var slow = new ArrayList<Future<Imported>>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < 6; i++) {
        String name = "slow" + i;
        slow.add(threads.submit(() -> bring(new ImportFile.Address(url + "/slow"), name)));
      }
      try {
        Eventually.holds(
            "six parts are on the disk", Duration.ofSeconds(30), () -> spooled(part.length) == 6);
        assertThat(bring(new ImportFile.Address(url + "/quick"), "quick").failure()).isNull();
      } finally {
        go.countDown();
      }
      for (Future<Imported> one : slow) {
        assertThat(one.get().size()).isEqualTo(2L * part.length);
      }
    }
    assertThat(spooled(0)).isZero();
  }

  private long spooled(long least) {
    try (Stream<Path> files = Files.list(fixture.data().resolve("transfers"))) {
      return files.filter(file -> file.toFile().length() >= least).count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void whatAnAddressHasIsBoundedPackedAndUnpacked() throws Exception {
    String url = "http://" + SITE + ":" + site.getAddress().getPort();
    sandbox = allowed(SITE + ":" + site.getAddress().getPort());
    byte[] large = new byte[65 << 20];
    serve("/large", "identity", large);
    serve("/bomb", "gzip", gzip(large));
    serve("/broken", "gzip", new byte[100]);
    serve("/packed", "gzip", gzip("unpacked".getBytes(StandardCharsets.UTF_8)));
    for (String path : List.of("/large", "/bomb")) {
      Imported refused = bring(new ImportFile.Address(url + path), "x");
      assertThat(refused.failure().code()).as(path).isEqualTo(ErrorCode.TOO_LARGE);
      assertThat(refused.failure().message()).contains(path);
    }
    assertThat(bring(new ImportFile.Address(url + "/broken"), "x").failure().code())
        .isEqualTo(ErrorCode.WEB_FAILED);
    assertThat(bring(new ImportFile.Address(url + "/packed"), "p").failure()).isNull();
    assertThat(read("p")).isEqualTo("unpacked");
    assertThat(spooled(0)).isZero();
  }

  private void serve(String path, String encoding, byte[] body) {
    site.createContext(
        path,
        exchange -> {
          exchange.getResponseHeaders().add("Content-Encoding", encoding);
          exchange.sendResponseHeaders(200, body.length);
          try (exchange) {
            exchange.getResponseBody().write(body);
          }
        });
  }

  private static byte[] gzip(byte[] content) throws IOException {
    var packed = new ByteArrayOutputStream();
    try (var out = new GZIPOutputStream(packed)) {
      out.write(content);
    }
    return packed.toByteArray();
  }

  @Test
  void anotherSandboxGivesOnlyWhatItExported() throws Exception {
    SandboxId other = fixture.sandbox().id();
    write(other, "out/a", "1");
    write(other, "private", "2");
    Imported early = bring(new ImportFile.Exported(other, "out"), null);
    assertThat(early.failure().code()).isEqualTo(ErrorCode.FORBIDDEN);

    assertThat(export(other, "out").success()).isTrue();
    assertThat(bring(new ImportFile.Exported(other, "out"), null).failure()).isNull();
    assertThat(read("out/a")).isEqualTo("1");
    assertThat(bring(new ImportFile.Exported(other, "/workspace/out/a"), "b").success()).isTrue();
    assertThat(bring(new ImportFile.Exported(other, "private"), null).failure().message())
        .contains("not exported");
    assertThat(bring(new ImportFile.Exported(other, "out/../private"), null).success()).isFalse();
  }

  @Test
  void aFolderGoesWholeAlsoWhereListsAreShort() throws Exception {
    SandboxId other = fixture.sandbox().id();
    for (int i = 10; i < 30; i++) {
      write(other, "many/" + i, "12");
    }
    assertThat(export(other, "many").size()).isEqualTo(40);
    Imported done = bring(new ImportFile.Exported(other, "many"), null);
    assertThat(done.failure()).isNull();
    assertThat(done.files()).isEqualTo(20);
    assertThat(read("many/29")).isEqualTo("12");
  }

  @Test
  void whatAFolderWithTooManyFilesHasInAllIsNotSaid() throws Exception {
    control
        .execs()
        .run(
            ALICE,
            sandbox,
            ExecStart.of(
                Command.shell(
                    "mkdir many && cd many && seq %d | xargs touch"
                        .formatted(FileSettings.MOST + 1))));
    Exported done = export(sandbox, "many");
    assertThat(done.success()).isTrue();
    assertThat(done.size()).isNull();
  }

  @Test
  void aSandboxOfAnotherOwnerGivesNothing() throws Exception {
    Sandbox bobs = control.sandboxes().create(BOB, CreateSandbox.defaults());
    Sandbox apart =
        control.sandboxes().create(ALICE, CreateSandbox.defaults().withNamespace("apart"));
    write(bobs.id(), "a", "1");
    write(apart.id(), "a", "1");
    assertThat(control.exports().add(BOB, bobs.id(), List.of("a"), null).getFirst().success())
        .isTrue();
    export(apart.id(), "a");
    for (SandboxId from : List.of(bobs.id(), apart.id())) {
      Imported done = bring(new ImportFile.Exported(from, "a"), null);
      assertThat(done.failure().code()).isEqualTo(ErrorCode.FORBIDDEN);
      assertThat(done.failure().message()).contains("belongs to another conversation");
    }
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> control.exports().add(MALLORY, sandbox, List.of("."), null))
        .matches(e -> e.code() == ErrorCode.SANDBOX_NOT_FOUND);
  }

  @Test
  void anArchiveIsUnpackedAndAHostileOneIsNot() throws Exception {
    Imported good = unpack(zip("one", "1", "d/two", "2"), "box");
    assertThat(good.failure()).isNull();
    assertThat(good.files()).isEqualTo(2);
    assertThat(read("box/d/two")).isEqualTo("2");

    Imported slip = unpack(zip("ok", "1", "../../evil", "2"), "bad");
    assertThat(slip.failure().code()).isEqualTo(ErrorCode.INVALID_INPUT);
    Imported bomb = unpack(zip("zeros", "\0".repeat(3 << 20)), "bad");
    assertThat(bomb.failure().code()).isEqualTo(ErrorCode.TOO_LARGE);
    assertThat(paths(".")).noneMatch(path -> path.contains("bad") || path.contains("evil"));
    try (var left = Files.list(fixture.data().resolve("transfers"))) {
      assertThat(left).as("nothing stays behind on the host").isEmpty();
    }
  }

  @Test
  void aLinkOpensOneExportForAWhile() throws Exception {
    write(sandbox, "a", "1");
    write(sandbox, "b", "2");
    Export.Link link = export(sandbox, "a").link();
    Export.Link other = export(sandbox, "b").link();
    Export admitted = control.exports().admit(link.export().id(), link.token());
    try (FileDownload download = control.exports().read(admitted, null)) {
      var out = new ByteArrayOutputStream();
      download.transferTo(out);
      assertThat(out.toString(StandardCharsets.UTF_8)).isEqualTo("1");
    }
    String token = link.token();
    long end = link.expires().getEpochSecond();
    String mac = token.substring(token.indexOf('.') + 1);
    for (String forged :
        List.of(
            "",
            other.token(),
            (end + 3600) + "." + mac,
            end + "." + mac.replace(mac.charAt(0), mac.charAt(0) == 'a' ? 'b' : 'a'),
            end + ".",
            "99999999999999999999." + mac,
            "-1." + mac,
            control.accessTokens().of(sandbox),
            control.accessTokens().ofExport(link.export().id(), link.expires().minusSeconds(7200)),
            control.accessTokens().ofPort(sandbox, 80, link.expires()))) {
      denied(() -> control.exports().admit(link.export().id(), forged));
    }
    control.exports().remove(ALICE, sandbox, link.export().id());
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> control.exports().admit(link.export().id(), link.token()))
        .matches(e -> e.code() == ErrorCode.EXPORT_NOT_FOUND);
  }

  @Test
  void anExportIsGoneWithItsSandboxAndSurvivesARestart() throws Exception {
    write(sandbox, "a", "1");
    Export.Link link = export(sandbox, "a").link();
    control = fixture.restart();
    assertThat(control.exports().admit(link.export().id(), link.token()).path())
        .isEqualTo("/workspace/a");
    assertThat(export(sandbox, "a").link().export().id()).isEqualTo(link.export().id());
    control.sandboxes().delete(ALICE, sandbox);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> control.exports().admit(link.export().id(), link.token()))
        .matches(e -> e.code() == ErrorCode.EXPORT_NOT_FOUND);
  }

  @Test
  void whatCannotBeExportedIsTold() throws Exception {
    write(sandbox, "a", "1");
    List<Exported> done =
        control
            .exports()
            .add(
                ALICE,
                sandbox,
                List.of("a", "missing", "/etc/passwd", "../x"),
                Duration.ofHours(1));
    assertThat(done).extracting(Exported::success).containsExactly(true, false, false, false);
    assertThat(done.get(2).failure().message()).contains("outside /workspace");
  }

  @Test
  void aFolderComesAsATar() throws Exception {
    write(sandbox, "out/sub/a", "one");
    Export.Link link = export(sandbox, "out").link();
    var tar = new ByteArrayOutputStream();
    control.exports().pack(link.export(), ArchiveFormat.TAR, tar);
    // What we write we can read: back in, in another place.
    Imported back = unpack(tar.toByteArray(), "copy");
    assertThat(back.failure()).isNull();
    assertThat(read("copy/sub/a")).isEqualTo("one");
  }

  @Test
  void anUploadGoesOnAfterABrokenConnectionAndARestart() throws Exception {
    byte[] all = "0123456789".repeat(20_000).getBytes(StandardCharsets.UTF_8);
    Uploads.Progress begun = control.uploads().begin(ALICE, sandbox, "big/file", all.length);
    var id = begun.upload().id();
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(
            () ->
                control.uploads().append(ALICE, sandbox, id, 0, new Breaking(all, all.length / 2)));
    control = fixture.restart();
    long offset = control.uploads().find(ALICE, sandbox, id).offset();
    assertThat(offset).isBetween(1L, (long) all.length / 2);
    failsWith(
        ErrorCode.WRONG_STATE,
        () -> control.uploads().append(ALICE, sandbox, id, 0, InputStream.nullInputStream()));
    failsWith(ErrorCode.SANDBOX_NOT_FOUND, () -> control.uploads().find(MALLORY, sandbox, id));
    assertThat(paths("big")).noneMatch(path -> path.endsWith("/file"));

    var rest = new ByteArrayInputStream(all, (int) offset, all.length - (int) offset);
    Uploads.Progress done = control.uploads().append(ALICE, sandbox, id, offset, rest);
    assertThat(done.offset()).isEqualTo(all.length);
    assertThat(read("big/file")).isEqualTo(new String(all, StandardCharsets.UTF_8));
    assertThat(control.uploads().find(ALICE, sandbox, id).offset()).isEqualTo(all.length);
    assertThat(paths("big")).hasSize(1);
  }

  @Test
  void whatCameBeforeABreakIsThereForWhoeverGoesOn() throws Exception {
    byte[] all = "0123456789".repeat(40_000).getBytes(StandardCharsets.UTF_8);
    int half = all.length / 2;
    for (int i = 0; i < 10; i++) {
      String path = "file" + i;
      var id = control.uploads().begin(ALICE, sandbox, path, all.length).upload().id();
      assertThatExceptionOfType(IOException.class)
          .isThrownBy(
              () -> control.uploads().append(ALICE, sandbox, id, 0, new Breaking(all, half)));
      assertThat(control.uploads().find(ALICE, sandbox, id).offset()).isEqualTo(half);
      var rest = new ByteArrayInputStream(all, half, all.length - half);
      control.uploads().append(ALICE, sandbox, id, half, rest);
      assertThat(read(path)).isEqualTo(new String(all, StandardCharsets.UTF_8));
    }
  }

  @Test
  void anUploadIsNotSaidToBeWholeUntilItHasItsName() throws Exception {
    byte[] all = "whole".getBytes(StandardCharsets.UTF_8);
    var id = control.uploads().begin(ALICE, sandbox, "place", all.length).upload().id();
    control.files().mkdir(ALICE, sandbox, "place/full", true);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () -> control.uploads().append(ALICE, sandbox, id, 0, new ByteArrayInputStream(all)));
    control = fixture.restart();
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> control.uploads().find(ALICE, sandbox, id));

    control.files().remove(ALICE, sandbox, "place", true, false);
    assertThat(control.uploads().find(ALICE, sandbox, id).offset()).isEqualTo(all.length);
    assertThat(read("place")).isEqualTo("whole");
    assertThat(control.uploads().find(ALICE, sandbox, id).offset()).isEqualTo(all.length);
    assertThat(paths(".")).hasSize(1);
  }

  @Test
  void anUploadTakesNoMoreThanItAnnounced() throws Exception {
    var upload = control.uploads().begin(ALICE, sandbox, "small", 3).upload();
    failsWith(
        ErrorCode.TOO_LARGE,
        () ->
            control
                .uploads()
                .append(ALICE, sandbox, upload.id(), 0, new ByteArrayInputStream(new byte[4])));
    failsWith(
        ErrorCode.TOO_LARGE,
        () -> control.uploads().begin(ALICE, sandbox, "huge", Long.MAX_VALUE / 2));
    control.uploads().remove(ALICE, sandbox, upload.id());
    assertThat(paths(".")).isEmpty();
  }

  @Test
  void anOldUploadThatCannotBeRemovedIsInNobodysWay() throws Exception {
    try (var other = new ControlFixture(usual -> usual.withTransfers(tooOldAtOnce()))) {
      Uploads uploads = other.control().uploads();
      SandboxId there = other.sandbox().id();
      var files = other.control().files();
      String draft = uploads.begin(ALICE, there, "folder/a", 3).upload().draft();
      files.remove(ALICE, there, draft, false, false);
      files.mkdir(ALICE, there, draft + "/full", true);
      String second = uploads.begin(ALICE, there, "other/b", 3).upload().draft();
      assertThat(files.stat(ALICE, there, second).size()).isZero();
      files.remove(ALICE, there, "other", true, false);
      files.write(ALICE, there, "other", InputStream.nullInputStream(), WriteFile.plain());
      assertThat(uploads.begin(ALICE, there, "c", 3).offset()).isZero();
      uploads.begin(ALICE, there, "whole", 0);
      assertThat(uploads.begin(ALICE, there, "d", 3).offset()).isZero();
    }
  }

  private static TransferSettings tooOldAtOnce() {
    TransferSettings usual = TransferSettings.defaults();
    return new TransferSettings(
        usual.hostFolders(),
        usual.maxSize(),
        usual.maxFiles(),
        usual.maxRatio(),
        usual.maxFetch(),
        usual.linkTime(),
        Duration.ofSeconds(-1));
  }

  /** A connection that breaks. */
  private static final class Breaking extends InputStream {
    private final ByteArrayInputStream some;

    Breaking(byte[] all, int length) {
      this.some = new ByteArrayInputStream(all, 0, length);
    }

    @Override
    public int read() throws IOException {
      throw new IOException("broken");
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      int count = some.read(target, offset, length);
      if (count < 0) {
        throw new IOException("broken");
      }
      return count;
    }
  }

  private Imported bring(ImportFile.Source source, String destination) throws Exception {
    return control
        .imports()
        .run(ALICE, sandbox, List.of(new ImportFile(source, destination, false)))
        .getFirst();
  }

  private Imported unpack(byte[] archive, String destination) throws Exception {
    return control
        .imports()
        .run(
            ALICE,
            sandbox,
            List.of(new ImportFile(new ImportFile.Inline("a", archive), destination, true)))
        .getFirst();
  }

  private Exported export(SandboxId from, String path) {
    return control.exports().add(ALICE, from, List.of(path), null).getFirst();
  }

  private SandboxId allowed(String rule) {
    return control
        .sandboxes()
        .create(
            ALICE,
            CreateSandbox.defaults()
                .withNetwork(
                    CreateSandbox.Network.of(Policy.NOTHING.withAllow(List.of(Rule.parse(rule))))))
        .id();
  }

  private String read(String path) throws IOException {
    try (FileDownload file = control.files().read(ALICE, sandbox, path, null)) {
      var out = new ByteArrayOutputStream();
      file.transferTo(out);
      return out.toString(StandardCharsets.UTF_8);
    }
  }

  private void write(SandboxId to, String path, String content) throws IOException {
    control
        .files()
        .write(
            ALICE,
            to,
            path,
            new ByteArrayInputStream(content.getBytes(StandardCharsets.UTF_8)),
            WriteFile.plain());
  }

  private List<String> paths(String folder) {
    return control.files().list(ALICE, sandbox, folder, 10, 1000).entries().stream()
        .map(entry -> entry.path())
        .toList();
  }

  private static void denied(ThrowingCallable call) {
    failsWith(ErrorCode.UNAUTHENTICATED, call);
  }

  private static void failsWith(ErrorCode code, ThrowingCallable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call)
        .matches(e -> e.code() == code, code.name());
  }

  private static byte[] zip(String... namesAndContents) throws IOException {
    var out = new ByteArrayOutputStream();
    try (var zip = new ZipOutputStream(out)) {
      for (int i = 0; i < namesAndContents.length; i += 2) {
        zip.putNextEntry(new ZipEntry(namesAndContents[i]));
        zip.write(namesAndContents[i + 1].getBytes(StandardCharsets.UTF_8));
        zip.closeEntry();
      }
    }
    return out.toByteArray();
  }
}
