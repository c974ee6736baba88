package dev.carrel.dist.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.control.admission.QueueSettings;
import dev.carrel.control.artifact.ArtifactSettings;
import dev.carrel.control.audit.AuditSettings;
import dev.carrel.control.context.ContextSettings;
import dev.carrel.control.egress.NetworkSettings;
import dev.carrel.control.exec.ExecSettings;
import dev.carrel.control.files.FileSettings;
import dev.carrel.control.host.CommandPattern;
import dev.carrel.control.host.HostSettings;
import dev.carrel.control.idempotency.KeySettings;
import dev.carrel.control.image.ImageSettings;
import dev.carrel.control.packages.PackageSettings;
import dev.carrel.control.sandbox.LifeSettings;
import dev.carrel.control.sandbox.PoolSettings;
import dev.carrel.control.sandbox.SandboxSettings;
import dev.carrel.control.transfer.TransferSettings;
import dev.carrel.control.web.WebSettings;
import dev.carrel.egress.AddressRange;
import dev.carrel.egress.EgressSettings;
import dev.carrel.egress.Host;
import dev.carrel.egress.HostPattern;
import dev.carrel.egress.Rule;
import dev.carrel.image.Builders;
import dev.carrel.image.ImageLimits;
import dev.carrel.image.Reference;
import dev.carrel.image.Snapshot;
import dev.carrel.server.ServerSettings;
import dev.carrel.server.grpc.GrpcSettings;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Language;
import dev.carrel.spi.Preload;
import dev.carrel.spi.WarmSettings;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigurationTest {
  private static final Environment USER =
      new Environment(Map.of("TZ", "UTC"), Path.of("/opt/carrel"), Path.of("/home/ada"), false);

  /** Every key with a value that is not its default. */
  private static final Map<String, String> ALL = new HashMap<>();

  static {
    ALL.putAll(
        Map.of(
            "server.host", "::1",
            "server.port", "9090",
            "server.allow-plaintext", "true",
            "server.allowed-hosts", "desk.example",
            "server.sandbox-domain", "boxes.example",
            "server.max-json-body", "2MiB",
            "server.max-connections", "7",
            "server.read-timeout", "8s",
            "server.keep-alive", "9s",
            "server.drain", "10s"));
    ALL.putAll(
        Map.of(
            "grpc.enabled", "false",
            "grpc.listen", "::1",
            "grpc.port", "9091",
            "grpc.tls-certificate", "/srv/grpc.pem",
            "grpc.tls-key", "/srv/grpc.key",
            "grpc.max-message", "5MiB",
            "grpc.max-connections", "11",
            "grpc.max-calls", "12"));
    ALL.putAll(
        Map.of(
            "storage.data-directory", "/srv/data",
            "storage.run-directory", "/srv/run",
            "engine.default", "process",
            "engine.allowed", "native,process",
            "native.allow-missing", "landlock",
            "native.zygote-max-forks", "20",
            "native.zygote-max-age", "21s",
            "native.zygote-max-idle", "22s",
            "log.level", "debug",
            "log.format", "json"));
    ALL.put("server.tls-certificate", "/srv/server.pem");
    ALL.put("server.tls-key", "/srv/server.key");
    ALL.put("docker.host", "/srv/docker.sock");
    ALL.putAll(
        Map.of(
            "sandbox.image", "rootfs",
            "sandbox.memory-mb", "100",
            "sandbox.cpu-cores", "0.5",
            "sandbox.disk-mb", "101",
            "sandbox.pids", "102",
            "sandbox.open-files", "103",
            "sandbox.idle-timeout", "104s",
            "sandbox.max-idle-timeout", "105s",
            "sandbox.max-memory-mb", "106",
            "sandbox.max-cpu-cores", "1.5"));
    ALL.putAll(
        Map.of(
            "sandbox.images", "rootfs=/srv/rootfs",
            "sandbox.max-disk-mb", "107",
            "sandbox.max-pids", "108",
            "sandbox.max-count", "109",
            "sandbox.max-count-per-tenant", "110",
            "sandbox.stopped-retention", "111s",
            "sandbox.watch-interval", "112ms"));
    ALL.putAll(
        Map.of(
            "sandbox.start-timeout", "113s",
            "sandbox.stop-grace", "114s",
            "sandbox.max-life", "115s",
            "sandbox.warning", "116s",
            "sandbox.evict-when-full", "true",
            "sandbox.orphan-min-age", "117s",
            "sandbox.on-shutdown", "stop",
            "volume.max-mb-per-tenant", "118"));
    ALL.putAll(
        Map.of(
            "pool.sizes", "rootfs@process=2-8",
            "pool.languages", "rootfs=python+node",
            "pool.ahead", "7",
            "pool.max-age", "119s",
            "pool.check-interval", "120s"));
    ALL.putAll(
        Map.of(
            "exec.default-timeout", "200s",
            "exec.max-timeout", "201s",
            "exec.max-background-timeout", "202s",
            "exec.max-concurrent", "203",
            "exec.max-retained", "204",
            "exec.stdout-chars", "205",
            "exec.stderr-chars", "206",
            "exec.spill", "207",
            "exec.spill-per-sandbox", "209",
            "exec.max-stdin", "208"));
    ALL.putAll(
        Map.of(
            "context.default-timeout", "300s",
            "context.max-timeout", "301s",
            "context.interrupt-grace", "302s",
            "context.start-timeout", "303s",
            "context.max-contexts", "304",
            "context.max-queued", "305",
            "context.max-code", "306",
            "context.max-display", "307",
            "context.max-frame", "308",
            "context.stdout-chars", "309"));
    ALL.putAll(
        Map.of(
            "context.preload", "data",
            "context.warm-at-start", "true",
            "context.stderr-chars", "310",
            "context.result-chars", "311",
            "context.traceback-chars", "312",
            "file.max-upload", "400",
            "file.max-entries", "401",
            "file.max-matches", "402",
            "file.max-zip-entries", "403",
            "file.max-zip", "404"));
    ALL.putAll(
        Map.of(
            "server.public-url", "https://desk.example/",
            "import.host-folders", "/srv/in,/srv/more",
            "import.max-size", "420",
            "import.max-files", "421",
            "import.max-ratio", "422",
            "import.max-fetch", "423",
            "import.upload-time", "424s",
            "export.link-time", "425s"));
    ALL.putAll(
        Map.of(
            "package.allow", "six,lodash",
            "package.deny", "left-pad",
            "package.min-age", "1d",
            "package.timeout", "413s",
            "package.cache-size", "415",
            "artifact.max-file", "410",
            "artifact.max-total", "411",
            "artifact.max-files", "412",
            "artifact.max-time", "413s"));
    ALL.putAll(
        Map.of(
            "queue.max-creates", "600",
            "queue.max-executions", "601",
            "queue.max-waiting", "602",
            "queue.max-wait", "603s",
            "idempotency.max-keys", "500",
            "idempotency.max-age", "501s",
            "idempotency.kept-cells", "502"));
    ALL.putAll(
        Map.of(
            "image.max-size-mb", "800",
            "image.max-files", "801",
            "image.max-ratio", "802",
            "image.auth-file", "/srv/auth.json",
            "image.max-jobs", "8",
            "image.snapshot", "https://mirror.example/{archive}/20250520T000000Z",
            "image.builder", "docker",
            "image.build-base", "mirror.example/debian:12"));
    ALL.putAll(
        Map.of(
            "audit.enabled", "false",
            "audit.output-chars", "700",
            "audit.checkpoint-records", "701",
            "audit.checkpoint-interval", "702s",
            "audit.max-age", "703s",
            "audit.max-size", "704"));
    ALL.putAll(
        Map.of(
            "egress.deny", "*.evil.example",
            "egress.allow-private", "10.1.0.0/16,mirror.example:8080",
            "egress.hosts", "mirror.example=10.1.2.3",
            "egress.presets", "packages",
            "egress.packages", "mirror.example:8443",
            "egress.allow-observe", "true",
            "egress.max-connections", "700",
            "egress.max-total-connections", "701",
            "egress.connect-timeout", "702s",
            "egress.idle-timeout", "703s"));
    ALL.put("egress.listen", "127.0.0.1:704");
    ALL.putAll(
        Map.of(
            "web.enabled", "false",
            "web.search", "searxng=https://search.example",
            "web.max-bytes", "70005",
            "web.max-chars", "70006"));
    ALL.putAll(
        Map.of(
            "host.enabled", "true",
            "host.always-allowed", "uname -s, docker restart *",
            "host.blocked", "rm, git push",
            "host.folders", "/srv/one,/srv/two words",
            "host.writable-folders", "/srv/three",
            "host.hidden", ".ssh",
            "host.path", "/opt/bin",
            "host.environment", "TZ,LC_ALL",
            "host.timeout", "801s"));
    ALL.putAll(
        Map.of(
            "host.max-timeout", "802s",
            "host.max-output", "803KiB",
            "host.max-file", "804KiB",
            "host.max-concurrent", "5",
            "host.max-memory", "805MiB",
            "host.max-processes", "33"));
    ALL.put("egress.upstream-ca", "/etc/corp/ca.pem");
  }

  private final Configuration usual = Configuration.from(Settings.none(), USER);
  private final Configuration changed =
      Configuration.from(Settings.of(Optional.empty(), Map.of(), ALL), USER);

  @Test
  void theMappingTestKnowsEveryKey() {
    assertThat(new TreeSet<>(ALL.keySet())).isEqualTo(new TreeSet<>(usual.keys().keySet()));
  }

  @Test
  void defaultsAreThoseOfTheParts() {
    assertThat(usual.server()).isEqualTo(ServerSettings.defaults());
    assertThat(usual.grpc()).isEqualTo(GrpcSettings.defaults());
    assertThat(usual.control().sandboxes()).isEqualTo(SandboxSettings.defaults());
    assertThat(usual.control().pools()).isEqualTo(PoolSettings.defaults());
    assertThat(usual.control().execs()).isEqualTo(ExecSettings.defaults());
    assertThat(usual.control().contexts()).isEqualTo(ContextSettings.defaults());
    assertThat(usual.control().files()).isEqualTo(FileSettings.defaults());
    assertThat(usual.control().audit()).isEqualTo(AuditSettings.defaults());
    assertThat(usual.control().artifacts()).isEqualTo(ArtifactSettings.defaults());
    assertThat(usual.control().libDirectory()).isEqualTo(Path.of("/opt/carrel/libexec"));
  }

  @Test
  void defaultsAreListedInTheFormInWhichTheyAreSet() {
    assertThat(usual.keys())
        .containsEntry("exec.default-timeout", "2m")
        .containsEntry("sandbox.watch-interval", "500ms")
        .containsEntry("exec.spill", "64MiB")
        .containsEntry("engine.allowed", "crun,docker,docker-runsc,native,runc,runsc");
    var flags = new HashMap<>(usual.keys());
    flags.keySet().removeIf(key -> key.startsWith("storage."));
    flags.values().removeIf(String::isEmpty);
    assertThat(configuration(flags)).isEqualTo(usual);
  }

  @Test
  void defaultsOfItsOwnRecords() {
    assertThat(usual.engine())
        .isEqualTo(
            new EngineConfig(
                "auto",
                Set.of("native", "crun", "runc", "runsc", "docker", "docker-runsc"),
                Set.of(),
                WarmSettings.defaults(),
                new DaemonSettings("", Map.of(), Path.of("/home/ada"))));
    assertThat(usual.log()).isEqualTo(new LogConfig(LogConfig.Level.INFO, LogConfig.Format.TEXT));
    assertThat(usual.storage().data()).isEqualTo(Path.of("/home/ada/.local/share/carrel"));
  }

  @Test
  void serverKeysReachTheirFields() {
    assertThat(changed.server())
        .isEqualTo(
            new ServerSettings(
                "::1",
                9090,
                true,
                Set.of("desk.example"),
                "boxes.example",
                Path.of("/srv/server.pem"),
                Path.of("/srv/server.key"),
                "https://desk.example",
                DataSize.ofMebibytes(2),
                7,
                Duration.ofSeconds(8),
                Duration.ofSeconds(9),
                Duration.ofSeconds(10)));
  }

  @Test
  void grpcKeysReachTheirFields() {
    assertThat(changed.grpc())
        .isEqualTo(
            new GrpcSettings(
                false,
                "::1",
                9091,
                Path.of("/srv/grpc.pem"),
                Path.of("/srv/grpc.key"),
                DataSize.ofMebibytes(5),
                11,
                12));
  }

  @Test
  void whoTakesAnyPortTakesAnyPortForGrpcToo() {
    Settings settings = Settings.of(Optional.empty(), Map.of("CARREL_SERVER_PORT", "0"), Map.of());
    assertThat(Configuration.from(settings, USER).grpc().port()).isZero();
  }

  @Test
  void storageEngineAndLogKeysReachTheirFields() {
    assertThat(changed.storage())
        .isEqualTo(new StorageConfig(Path.of("/srv/data"), Path.of("/srv/run")));
    assertThat(changed.engine())
        .isEqualTo(
            new EngineConfig(
                "process",
                Set.of("native", "process"),
                Set.of("landlock"),
                new WarmSettings(20, Duration.ofSeconds(21), Duration.ofSeconds(22)),
                new DaemonSettings("/srv/docker.sock", Map.of(), Path.of("/home/ada"))));
    assertThat(changed.log())
        .isEqualTo(new LogConfig(LogConfig.Level.DEBUG, LogConfig.Format.JSON));
    assertThat(changed.control().dataDirectory()).isEqualTo(Path.of("/srv/data"));
  }

  @Test
  void sandboxKeysReachTheirFields() {
    assertThat(changed.control().sandboxes())
        .isEqualTo(
            new SandboxSettings(
                "process",
                Set.of("native", "process"),
                "rootfs",
                Map.of("rootfs", Path.of("/srv/rootfs")),
                100,
                0.5,
                101,
                102,
                103,
                Duration.ofSeconds(104),
                Duration.ofSeconds(105),
                106,
                1.5,
                107,
                108,
                109,
                110,
                Duration.ofSeconds(111),
                Duration.ofMillis(112),
                new LifeSettings(
                    Duration.ofSeconds(113),
                    Duration.ofSeconds(114),
                    Duration.ofSeconds(115),
                    Duration.ofSeconds(116),
                    true,
                    Duration.ofSeconds(117),
                    LifeSettings.OnShutdown.STOP,
                    118)));
  }

  @Test
  void execKeysReachTheirFields() {
    assertThat(changed.control().execs())
        .isEqualTo(
            new ExecSettings(
                Duration.ofSeconds(200),
                Duration.ofSeconds(201),
                Duration.ofSeconds(202),
                203,
                204,
                205,
                206,
                new DataSize(207),
                new DataSize(209),
                new DataSize(208)));
  }

  @Test
  void whoLowersTheMostMeansThoseThatNameNoTimeToo() {
    var control =
        configuration(
                Map.of(
                    "exec.max-timeout", "5s",
                    "context.max-timeout", "6s",
                    "host.max-timeout", "7s"))
            .control();
    assertThat(control.execs().defaultTimeout()).isEqualTo(Duration.ofSeconds(5));
    assertThat(control.contexts().defaultTimeout()).isEqualTo(Duration.ofSeconds(6));
    assertThat(control.host().timeout()).isEqualTo(Duration.ofSeconds(7));
  }

  @Test
  void poolKeysReachTheirFields() {
    assertThat(changed.control().pools())
        .isEqualTo(
            new PoolSettings(
                List.of(
                    new PoolSettings.Pool(
                        "rootfs", "process", 2, 8, Set.of(Language.PYTHON, Language.NODE))),
                7,
                Duration.ofSeconds(119),
                Duration.ofSeconds(120)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"host", "host=2", "host=3-2", "host=0-0", "=1-2", "host=1-99999"})
  void aPoolThatCannotBeStopsTheStart(String sizes) {
    assertThatThrownBy(() -> configuration(Map.of("pool.sizes", sizes)))
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("pool.sizes");
  }

  @Test
  void languagesOfNoPoolStopTheStart() {
    assertThatThrownBy(() -> configuration(Map.of("pool.languages", "host=python")))
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("pool.sizes does not");
  }

  @Test
  void contextAndFileKeysReachTheirFields() {
    assertThat(changed.control().contexts())
        .isEqualTo(
            new ContextSettings(
                Duration.ofSeconds(300),
                Duration.ofSeconds(301),
                Duration.ofSeconds(302),
                Duration.ofSeconds(303),
                Preload.DATA,
                true,
                304,
                305,
                new DataSize(306),
                new DataSize(307),
                new DataSize(308),
                309,
                310,
                311,
                312));
    assertThat(changed.control().files())
        .isEqualTo(new FileSettings(new DataSize(400), 401, 402, 403, new DataSize(404)));
    assertThat(changed.control().packages())
        .isEqualTo(
            new PackageSettings(
                List.of("six", "lodash"),
                List.of("left-pad"),
                Duration.ofDays(1),
                Duration.ofSeconds(413),
                new DataSize(415)));
    assertThat(changed.control().transfers())
        .isEqualTo(
            new TransferSettings(
                List.of(Path.of("/srv/in"), Path.of("/srv/more")),
                new DataSize(420),
                421,
                422,
                new DataSize(423),
                Duration.ofSeconds(425),
                Duration.ofSeconds(424)));
    assertThat(changed.control().artifacts())
        .isEqualTo(
            new ArtifactSettings(
                new DataSize(410), new DataSize(411), 412, Duration.ofSeconds(413)));
  }

  @Test
  void egressKeysReachTheirFields() {
    NetworkSettings network = changed.control().network();
    assertThat(network.directory()).isEqualTo(Path.of("/srv/run/egress"));
    assertThat(network.usualPresets()).containsExactly("packages");
    assertThat(network.allowObserve()).isTrue();
    assertThat(network.upstreamCas()).containsExactly(Path.of("/etc/corp/ca.pem"));
    assertThat(network.packages().more()).containsExactly(Rule.parse("mirror.example:8443"));
    assertThat(network.proxy())
        .isEqualTo(
            new EgressSettings(
                List.of(HostPattern.parse("*.evil.example")),
                List.of(HostPattern.parse("mirror.example:8080")),
                List.of(AddressRange.parse("10.1.0.0/16")),
                Map.of(Host.parse("mirror.example"), List.of(InetAddress.ofLiteral("10.1.2.3"))),
                700,
                701,
                Duration.ofSeconds(702),
                Duration.ofSeconds(703)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"egress.deny=*", "egress.hosts=a.example", "egress.allow-private=10.0.0.0/99"})
  void aHostThatCannotBeReadStopsTheStart(String setting) {
    String[] parts = setting.split("=", 2);
    assertThatThrownBy(() -> configuration(Map.of(parts[0], parts[1])))
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining(parts[0]);
  }

  @Test
  void idempotencyKeysReachTheirFields() {
    assertThat(changed.control().keys())
        .isEqualTo(new KeySettings(500, Duration.ofSeconds(501), new DataSize(502)));
  }

  @Test
  void auditKeysReachTheirFields() {
    assertThat(changed.control().audit())
        .isEqualTo(
            new AuditSettings(
                false,
                700,
                701,
                Duration.ofSeconds(702),
                Duration.ofSeconds(703),
                new DataSize(704)));
  }

  @Test
  void imageKeysReachTheirFields() {
    assertThat(changed.control().images())
        .isEqualTo(
            new ImageSettings(
                new ImageLimits(DataSize.ofMebibytes(800), 801, 802),
                Path.of("/srv/auth.json"),
                8,
                new Snapshot("https://mirror.example/{archive}/20250520T000000Z"),
                Builders.Choice.DOCKER,
                Reference.parse("mirror.example/debian:12")));
    assertThat(usual.control().images()).isEqualTo(ImageSettings.defaults());
  }

  @Test
  void webKeysReachTheirFields() {
    assertThat(usual.control().web()).isEqualTo(WebSettings.defaults());
    assertThat(changed.control().web())
        .isEqualTo(
            new WebSettings(
                false,
                List.of(new WebSettings.Provider("searxng", "https://search.example")),
                70_005,
                70_006));
  }

  @Test
  void hostKeysReachTheirFields() {
    assertThat(usual.control().host()).isEqualTo(HostSettings.off());
    assertThat(changed.control().host())
        .isEqualTo(
            new HostSettings(
                true,
                List.of(CommandPattern.parse("uname -s"), CommandPattern.parse("docker restart *")),
                List.of(CommandPattern.parse("rm"), CommandPattern.parse("git push")),
                List.of(Path.of("/srv/one"), Path.of("/srv/two words")),
                List.of(Path.of("/srv/three")),
                List.of(".ssh"),
                List.of(Path.of("/opt/bin")),
                Map.of("TZ", "UTC"),
                Duration.ofSeconds(801),
                Duration.ofSeconds(802),
                new DataSize(803 * 1024),
                new DataSize(804 * 1024),
                5,
                new DataSize(805L << 20),
                33));
    assertThatThrownBy(
            () ->
                Configuration.from(
                    Settings.of(Optional.empty(), Map.of(), Map.of("host.always-allowed", "*")),
                    USER))
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("host.always-allowed")
        .hasMessageContaining("name of a program");
  }

  @Test
  void queueKeysReachTheirFields() {
    assertThat(changed.control().queue())
        .isEqualTo(new QueueSettings(600, 601, 602, Duration.ofSeconds(603)));
  }

  @Test
  void everyValueOfTheMappingTestDiffersFromItsDefault() {
    for (var entry : ALL.entrySet()) {
      // Languages are of pools that there are.
      var flags = new HashMap<>(Map.of("engine.allowed", "process", "pool.sizes", "rootfs=1-1"));
      Configuration without = configuration(flags);
      flags.put(entry.getKey(), entry.getValue());

      assertThat(configuration(flags)).as(entry.getKey()).isNotEqualTo(without);
    }
  }

  @Test
  void anUnknownKeyStopsTheStart() {
    assertThatThrownBy(
            () ->
                Configuration.from(
                    Settings.of(Optional.empty(), Map.of(), Map.of("server.colour", "red")), USER))
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("server.colour");
  }

  @Test
  void aDefaultEngineThatIsNotAllowedStopsTheStart() {
    assertThatThrownBy(
            () ->
                Configuration.from(
                    Settings.of(Optional.empty(), Map.of(), Map.of("engine.default", "process")),
                    USER))
        .hasMessageContaining("engine.allowed");
  }

  @Test
  void hintsNameKeysThatExist() throws IOException {
    Pattern raise = Pattern.compile("(?:raise|and|with|under|to) ([a-z]+\\.[a-z]+(?:-[a-z]+)*)");
    Path root = Path.of(System.getProperty("carrel.root", ".."));
    var named = new TreeSet<String>();
    for (String module : List.of("control", "server", "engines/native", "engines/process")) {
      try (Stream<Path> sources = Files.walk(root.resolve(module + "/src/main/java"))) {
        for (Path source : sources.filter(file -> file.toString().endsWith(".java")).toList()) {
          Files.readString(source)
              .lines()
              .filter(line -> line.contains("\""))
              .flatMap(line -> raise.matcher(line).results())
              .forEach(match -> named.add(match.group(1)));
        }
      }
    }
    assertThat(named).isNotEmpty().isSubsetOf(usual.keys().keySet());
  }

  @Test
  void everySettingIsDescribedWithItsDefault() throws IOException {
    Path document = Path.of(System.getProperty("carrel.root", ".."), "docs/settings.md");
    var described = new TreeMap<String, String>();
    // A default in words depends on the host, or is too long for a table.
    Pattern.compile("(?m)^\\| `([a-z.-]+)` \\| (?:`([^`]+)`|([a-z][^|`]*)) \\| [^|]+ \\|$")
        .matcher(Files.readString(document))
        .results()
        .forEach(
            line ->
                described.put(
                    line.group(1),
                    line.group(2) != null
                        ? line.group(2)
                        : usual.keys().getOrDefault(line.group(1), "")));

    assertThat(described).isEqualTo(usual.keys());
  }

  private static Configuration configuration(Map<String, String> flags) {
    return Configuration.from(Settings.of(Optional.empty(), Map.of(), flags), USER);
  }

  @Test
  void aDataDirectoryOfOnesOwnHoldsTheSocketsToo() {
    Configuration own =
        Configuration.from(
            Settings.of(Optional.empty(), Map.of(), Map.of("storage.data-directory", "/d")), USER);

    assertThat(own.storage().run()).isEqualTo(Path.of("/d/run"));
  }
}
