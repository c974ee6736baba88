package dev.carrel.control.packages;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.ControlSettings;
import dev.carrel.control.egress.NetworkSettings;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.furnish.Furnishing;
import dev.carrel.control.furnish.Furnishings.Furnished;
import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.egress.Host;
import dev.carrel.egress.PackageHost;
import dev.carrel.egress.Policy;
import dev.carrel.egress.Rule;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The real clients in real sandboxes, with registries that this test serves. */
@SuppressWarnings("NullAway") // set before each test
final class PackageClientsIT {
  private static final String INDEX = "index.example.net";
  private static final String FILES = "files.example.net";
  private static final String OTHER = "other.example.net";
  private static final Policy PACKAGES = Policy.NOTHING.withPresets(Set.of("packages"));
  private static final CreateSandbox PLAIN =
      CreateSandbox.defaults().withSize(new CreateSandbox.Size(2048L, null, null, null));

  private TestIndex index;
  private ControlFixture fixture;

  @BeforeEach
  void open() throws IOException {
    index = new TestIndex();
    fixture = new ControlFixture("native", this::settings);
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
    index.close();
  }

  private ControlSettings settings(ControlSettings settings) {
    NetworkSettings network = settings.network();
    List<InetAddress> here = List.of(InetAddress.getLoopbackAddress());
    Map<String, String> clients =
        Map.of(
            "PIP_INDEX_URL", index.at(INDEX + "/simple").toString(),
            "PIP_TRUSTED_HOST", String.join(" ", INDEX, FILES, OTHER),
            "NPM_CONFIG_REGISTRY", index.at(INDEX + "/npm/").toString());
    Path none = Path.of("/nonexistent");
    PackageSettings usual = settings.packages();
    return settings
        .withPackages(
            new PackageSettings(
                List.of(), List.of("denied"), usual.minAge(), usual.timeout(), usual.cache()))
        .withNetwork(
            network
                .withPackages(
                    new PackageHost(clients, none, none, List.of(rule(FILES), rule(OTHER))))
                .withProxy(
                    network
                        .proxy()
                        .withPinned(
                            Stream.of(INDEX, FILES, OTHER)
                                .collect(Collectors.toMap(Host::parse, _ -> here)))));
  }

  @Test
  void pipGetsAFileThatAnotherSandboxInstalledFromTheServer() throws Exception {
    String wheel = wheel(INDEX, "shared", "where = 'the index'");
    wheel(OTHER, "shared", "where = 'the other'");

    Installation first = install(sandbox(PACKAGES, Map.of()), PackageClient.PIP, "shared");
    assertThat(first.success()).as(first.exec().stderr().text()).isTrue();
    assertThat(first.files()).isEqualTo(new Installation.Files(0, 1));
    Sandbox next = sandbox(PACKAGES, Map.of());
    Installation second = install(next, PackageClient.PIP, "shared");
    assertThat(second.success()).as(second.exec().stderr().text()).isTrue();
    assertThat(second.files()).isEqualTo(new Installation.Files(1, 0));
    assertThat(index.asked(wheel)).as("downloads").isEqualTo(1);
    assertThat(run(next, "python3 -c 'import shared; print(shared.where)'")).contains("the index");
    assertThat(run(next, "python3 -m pip freeze --user")).contains("shared==1.0");
    assertThat(fixture.control().telemetry().snapshot().get("package_files_cached").count())
        .isEqualTo(1);

    // Another index has another file of that name and version.
    Sandbox elsewhere =
        sandbox(PACKAGES, Map.of("PIP_INDEX_URL", index.at(OTHER + "/simple").toString()));
    Installation third = install(elsewhere, PackageClient.PIP, "shared");
    assertThat(third.files()).isEqualTo(new Installation.Files(0, 1));
    assertThat(run(elsewhere, "python3 -c 'import shared; print(shared.where)'"))
        .contains("the other");

    // What the server has is not for who may not fetch it.
    Sandbox shut = sandbox(Policy.NOTHING.withAllow(List.of(rule(INDEX))), Map.of());
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> install(shut, PackageClient.PIP, "shared"))
        .matches(e -> e.code() == ErrorCode.FORBIDDEN)
        .withMessageContaining("does not let pip reach " + FILES);
  }

  @Test
  void npmGetsAFileThatAnotherSandboxInstalledFromTheServer(@TempDir Path folder) throws Exception {
    String tarball = tarball(folder, "shared-npm");
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Sandbox one = sandbox(PACKAGES, Map.of());
      Sandbox two = sandbox(PACKAGES, Map.of());
      Future<Installation> first =
          threads.submit(() -> install(one, PackageClient.NPM, "shared-npm"));
      Installation second = install(two, PackageClient.NPM, "shared-npm");

      assertThat(first.get().success()).as(first.get().exec().stderr().text()).isTrue();
      assertThat(second.success()).as(second.exec().stderr().text()).isTrue();
      assertThat(first.get().files().cached() + second.files().cached()).isEqualTo(1);
      assertThat(first.get().files().fetched() + second.files().fetched()).isEqualTo(1);
      assertThat(index.asked(tarball)).as("downloads").isEqualTo(1);
      assertThat(run(two, "node -p \"require('shared-npm')\"")).contains("it is here");
      assertThat(run(two, "cat package-lock.json")).contains(index.at(tarball).toString());
    }
  }

  @Test
  void whatIsNotInstalledLeavesNothingBehind(@TempDir Path folder) throws Exception {
    tarball(folder, "plain-npm");
    index.put(
        INDEX + "/npm/needs-denied",
        "application/json",
        """
        {"name": "needs-denied", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0":
          {"name": "needs-denied", "version": "1.0.0", "dependencies": {"denied": "1.0.0"},
           "dist": {"tarball": "%1$s"}}}}
        """
            .formatted(index.at(FILES + "/needs-denied-1.0.0.tgz"))
            .getBytes(StandardCharsets.UTF_8));
    index.put(
        INDEX + "/npm/denied",
        "application/json",
        """
        {"name": "denied", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0":
          {"name": "denied", "version": "1.0.0", "dist": {"tarball": "%1$s"}}}}
        """
            .formatted(index.at(FILES + "/denied-1.0.0.tgz"))
            .getBytes(StandardCharsets.UTF_8));
    Sandbox sandbox = sandbox(PACKAGES, Map.of());

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> install(sandbox, PackageClient.NPM, "needs-denied"))
        .withMessageContaining("'denied', which is needed, is refused");
    assertThat(run(sandbox, "ls -A /tmp /workspace")).doesNotContain("carrel-npm");
    assertThat(install(sandbox, PackageClient.NPM, "plain-npm").success()).isTrue();
    assertThat(install(sandbox, PackageClient.NPM, "plain-npm").success()).isTrue();
    assertThat(install(sandbox, PackageClient.NPM, "absent-npm").success()).isFalse();
    assertThat(run(sandbox, "ls -A /tmp")).doesNotContain("carrel-npm");
  }

  @Test
  void installsAtOnceInOneSandboxKeepEachOthersPackages(@TempDir Path folder) throws Exception {
    tarball(Files.createDirectory(folder.resolve("one")), "one-npm");
    tarball(Files.createDirectory(folder.resolve("two")), "two-npm");
    Sandbox sandbox = sandbox(PACKAGES, Map.of());
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Installation> one =
          threads.submit(() -> install(sandbox, PackageClient.NPM, "one-npm"));
      Future<Installation> two =
          threads.submit(() -> install(sandbox, PackageClient.NPM, "two-npm"));
      assertThat(one.get().success()).as(one.get().exec().stderr().text()).isTrue();
      assertThat(two.get().success()).as(two.get().exec().stderr().text()).isTrue();
    }
    assertThat(run(sandbox, "ls node_modules")).contains("one-npm", "two-npm");
    assertThat(run(sandbox, "cat package.json")).contains("one-npm", "two-npm");
  }

  @Test
  void rInstallsASourcePackageThroughTheProxy(@TempDir Path folder) throws Exception {
    Path source = Files.createDirectories(folder.resolve("smallpkg"));
    Files.writeString(
        source.resolve("DESCRIPTION"),
        """
        Package: smallpkg
        Version: 1.2
        Title: Says Where It Is
        Description: One function.
        Author: Nobody
        Maintainer: Nobody <nobody@example.net>
        License: CC0
        """);
    Files.writeString(source.resolve("NAMESPACE"), "export(where)\n");
    Files.writeString(
        Files.createDirectory(source.resolve("R")).resolve("where.R"),
        "where <- function() 'it is here'\n");
    command(folder, "R", "CMD", "build", "--no-build-vignettes", "smallpkg");
    byte[] built = Files.readAllBytes(folder.resolve("smallpkg_1.2.tar.gz"));
    String sum = HexFormat.of().formatHex(TestIndex.digest("MD5", built));
    String place = FILES + "/src/contrib/";
    index.put(place + "smallpkg_1.2.tar.gz", "application/x-gzip", built);
    index.put(
        place + "PACKAGES",
        "text/plain",
        ("Package: smallpkg\nVersion: 1.2\nNeedsCompilation: no\nMD5sum: " + sum + "\n\n")
            .getBytes(StandardCharsets.UTF_8));
    Sandbox sandbox = sandbox(PACKAGES, Map.of("R_PROFILE", "/workspace/site.R"));
    run(sandbox, "echo \"options(repos = c(own = '" + index.at(FILES + "/") + "'))\" > site.R");

    Installation done = install(sandbox, PackageClient.R, "smallpkg");

    assertThat(done.success()).as(done.exec().stderr().text()).isTrue();
    assertThat(done.installed()).containsExactly(new Installation.Installed("smallpkg", "1.2"));
    assertThat(index.asked(place + "smallpkg_1.2.tar.gz")).isEqualTo(1);
    assertThat(run(sandbox, "R_LIBS=.local/lib/R Rscript -e 'cat(smallpkg::where())'"))
        .contains("it is here");
    fixture.control().egress().set(ALICE, sandbox.id(), Policy.NOTHING);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> install(sandbox, PackageClient.R, "other"))
        .matches(e -> e.code() == ErrorCode.FORBIDDEN)
        .withMessageContaining("does not let r reach " + FILES);
  }

  @Test
  void aRepeatedRequestForASandboxWaitsUntilItsPackagesAreThere() throws Exception {
    wheel(INDEX, "shared", "where = 'the index'");
    index.hold();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Furnished> first = threads.submit(() -> furnish(PLAIN, PACKAGES, "shared"));
      eventually(() -> index.asked(INDEX + "/simple/shared/") > 0);
      Future<Furnished> again = threads.submit(() -> furnish(PLAIN, PACKAGES, "shared"));
      assertThatExceptionOfType(TimeoutException.class)
          .isThrownBy(() -> again.get(1, TimeUnit.SECONDS));
      index.release();

      assertThat(first.get().installations()).hasSize(1).allMatch(Installation::success);
      assertThat(again.get().created().replay()).isTrue();
      Sandbox sandbox = again.get().created().sandbox();
      assertThat(sandbox.id()).isEqualTo(first.get().created().sandbox().id());
      assertThat(run(sandbox, "python3 -c 'import shared; print(shared.where)'"))
          .contains("the index");
    }
  }

  @Test
  void whatAServerHadNotInstalledWhenItEndedIsInstalledWhenItIsAskedForAgain() throws Exception {
    wheel(INDEX, "shared", "where = 'the index'");
    index.hold();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Furnished> first = threads.submit(() -> furnish(PLAIN, PACKAGES, "shared"));
      eventually(() -> index.asked(INDEX + "/simple/shared/") > 0);
      SandboxId made = fixture.control().sandboxes().liveIds().findFirst().orElseThrow();
      fixture.restart();
      index.release();
      assertThatException().isThrownBy(first::get);

      Furnished again = furnish(PLAIN, PACKAGES, "shared");
      assertThat(again.created().sandbox().id()).isEqualTo(made);
      assertThat(again.installations()).hasSize(1).allMatch(Installation::success);
      assertThat(run(again.created().sandbox(), "python3 -c 'import shared; print(shared.where)'"))
          .contains("the index");
      assertThat(furnish(PLAIN, PACKAGES, "shared").installations()).isEmpty();
    }
  }

  @Test
  void aClientThatFailedTriesAgainWhenTheRequestIsRepeated() throws Exception {
    Furnished first = furnish(PLAIN, PACKAGES, "late");
    assertThat(first.installations()).hasSize(1).noneMatch(Installation::success);
    wheel(INDEX, "late", "where = 'the index'");

    Furnished again = furnish(PLAIN, PACKAGES, "late");
    assertThat(again.created().sandbox().id()).isEqualTo(first.created().sandbox().id());
    assertThat(again.installations()).hasSize(1).allMatch(Installation::success);
  }

  @Test
  void aSandboxThatHasStoppedIsToldOfThoughItsPackagesAreMissing() throws Exception {
    SandboxId made = furnish(PLAIN, PACKAGES, "late").created().sandbox().id();
    wheel(INDEX, "late", "where = 'the index'");
    fixture.control().sandboxes().stop(ALICE, made);

    Furnished stopped = furnish(PLAIN, PACKAGES, "late");
    assertThat(stopped.created().sandbox().id()).isEqualTo(made);
    assertThat(stopped.created().sandbox().status()).isEqualTo(SandboxStatus.STOPPED);
    assertThat(stopped.installations()).isEmpty();

    fixture.control().sandboxes().start(ALICE, made);
    assertThat(furnish(PLAIN, PACKAGES, "late").installations())
        .hasSize(1)
        .allMatch(Installation::success);
  }

  @Test
  void aSandboxThatMayNotHaveItsPackagesGoesUnlessSomebodyElseHasIt() throws Exception {
    wheel(INDEX, "shared", "where = 'the index'");
    Policy shut = Policy.NOTHING.withAllow(List.of(rule(INDEX)));
    for (int i = 0; i < 2; i++) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> furnish(PLAIN, shut, "shared"))
          .matches(e -> e.code() == ErrorCode.FORBIDDEN);
      assertThat(fixture.control().sandboxes().liveIds()).isEmpty();
    }

    CreateSandbox keyed = PLAIN.withSessionKey("shared");
    int before = index.asked(INDEX + "/simple/shared/");
    index.hold();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Furnished> first = threads.submit(() -> furnish(keyed, shut, "shared"));
      eventually(() -> index.asked(INDEX + "/simple/shared/") > before);
      Sandbox found = fixture.control().sandboxes().create(ALICE, keyed);
      Future<Furnished> again = threads.submit(() -> furnish(keyed, shut, "shared"));
      index.release();

      for (Future<Furnished> refused : List.of(first, again)) {
        assertThatExceptionOfType(ExecutionException.class)
            .isThrownBy(refused::get)
            .withMessageContaining("does not let pip reach");
      }
      assertThat(run(found, "echo mine")).isEqualTo("mine\n");
    }
  }

  private Furnished furnish(CreateSandbox request, Policy policy, String name)
      throws InterruptedException {
    var packages = List.of(new InstallPackages(PackageClient.PIP, List.of(name), false));
    String key = request.sessionKey() + "-" + name;
    return fixture
        .control()
        .furnishings()
        .create(
            ALICE,
            request.withNetwork(CreateSandbox.Network.of(policy)),
            new Furnishing(Map.of(), packages),
            new RequestKey(key, key),
            () -> {});
  }

  /** Puts a project into an index; returns where its file is asked for. */
  private String wheel(String host, String name, String code) throws IOException {
    byte[] wheel = TestIndex.wheel(name, code);
    String path = FILES + "/" + host + "/" + name + "-1.0-py3-none-any.whl";
    index.put(path, "application/zip", wheel);
    URI at = index.at(path);
    index.project(host, name, at, TestIndex.sha256(wheel));
    if (host.equals(INDEX)) {
      index.jsonProject(host, name, at, TestIndex.sha256(wheel));
    }
    return path;
  }

  private String tarball(Path folder, String name) throws Exception {
    Path inside = Files.createDirectory(folder.resolve("package"));
    Files.writeString(
        inside.resolve("package.json"),
        "{\"name\":\"%s\",\"version\":\"1.0.0\",\"main\":\"index.js\"}".formatted(name));
    Files.writeString(inside.resolve("index.js"), "module.exports = 'it is here';\n");
    command(folder, "tar", "czf", "package.tgz", "package");
    byte[] packed = Files.readAllBytes(folder.resolve("package.tgz"));
    String path = FILES + "/" + name + "-1.0.0.tgz";
    index.put(path, "application/octet-stream", packed);
    String integrity = Base64.getEncoder().encodeToString(TestIndex.digest("SHA-512", packed));
    index.put(
        INDEX + "/npm/" + name,
        "application/json",
        """
        {"name": "%1$s", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0":
          {"name": "%1$s", "version": "1.0.0", "dist": {"tarball": "%2$s", "integrity": "sha512-%3$s"}}}}
        """
            .formatted(name, index.at(path), integrity)
            .getBytes(StandardCharsets.UTF_8));
    return path;
  }

  private static void command(Path folder, String... words) throws Exception {
    Path said = folder.resolve("said");
    Process process =
        new ProcessBuilder(words)
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(said.toFile())
            .start();
    boolean ended = process.waitFor(2, TimeUnit.MINUTES);
    process.destroyForcibly();
    assertThat(ended && process.waitFor() == 0).as(Files.readString(said)).isTrue();
  }

  private Rule rule(String host) {
    return Rule.parse(host + ":" + index.port());
  }

  private Sandbox sandbox(Policy policy, Map<String, String> variables) {
    return fixture
        .control()
        .sandboxes()
        .create(ALICE, PLAIN.withNetwork(CreateSandbox.Network.of(policy)).withEnvVars(variables));
  }

  private Installation install(Sandbox sandbox, PackageClient client, String name)
      throws InterruptedException {
    return fixture
        .control()
        .packages()
        .install(ALICE, sandbox.id(), new InstallPackages(client, List.of(name), false));
  }

  private String run(Sandbox sandbox, String line) throws InterruptedException {
    var ran = fixture.control().execs().run(ALICE, sandbox.id(), ExecStart.of(Command.shell(line)));
    return ran.stdout().text() + ran.stderr().text();
  }
}
