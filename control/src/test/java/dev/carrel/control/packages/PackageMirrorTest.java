package dev.carrel.control.packages;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.egress.EgressProxy;
import dev.carrel.egress.EgressSettings;
import dev.carrel.egress.Gate;
import dev.carrel.egress.Host;
import dev.carrel.egress.OwnHost;
import dev.carrel.egress.Policy;
import dev.carrel.egress.Presets;
import dev.carrel.egress.Rule;
import dev.carrel.egress.TlsEnds;
import dev.carrel.spi.DataSize;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a sandbox gets of the server's files of packages, whatever it asks for. */
@SuppressWarnings("NullAway") // set before each test
final class PackageMirrorTest {
  private static final String INDEX = "index.example.net";
  private static final String FILES = "files.example.net";
  private static final String OTHER = "other.example.net";
  private static final String ELSEWHERE = "elsewhere.example.net";
  private static final byte[] WHEEL = "the bytes of a wheel".getBytes(UTF_8);
  private static final String NAME = "/demo-1.0-py3-none-any.whl";

  @TempDir private Path folder;
  private TestIndex index;
  private EgressProxy proxy;
  private PackageMirror mirror;
  private PackageCache cache;

  @BeforeEach
  void open() throws IOException {
    index = new TestIndex();
    List<InetAddress> here = List.of(InetAddress.getLoopbackAddress());
    EgressSettings settings =
        EgressSettings.defaults()
            .withPinned(
                Stream.of(INDEX, FILES, OTHER, ELSEWHERE)
                    .collect(Collectors.toMap(Host::parse, _ -> here)));
    proxy = new EgressProxy(settings, none());
    reopen(DataSize.ofMebibytes(1));
    index.put(FILES + NAME, "application/zip", WHEEL);
  }

  @AfterEach
  void close() {
    proxy.close();
    index.close();
  }

  private void reopen(DataSize room) {
    reopen(room, Duration.ofSeconds(30));
  }

  private void reopen(DataSize room, Duration patience) {
    cache = new PackageCache(folder.resolve("cache"), room, patience);
    mirror =
        new PackageMirror(
            proxy.fetch(new TlsEnds(folder.resolve("ca.pem"), List.of())),
            () -> rules(INDEX, FILES, OTHER),
            cache,
            new Telemetry());
  }

  @Test
  void aFileIsFetchedOnceForAllWhoWantItAtOnce() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var asking = new ArrayList<Future<String>>();
      for (int i = 0; i < 16; i++) {
        asking.add(threads.submit(() -> ask(gate(FILES), FILES, WHEEL)));
      }
      for (Future<String> one : asking) {
        assertThat(one.get()).isEqualTo("200 " + new String(WHEEL, UTF_8));
      }
    }
    assertThat(index.asked(FILES + NAME)).isEqualTo(1);
    assertThat(cache.used()).isEqualTo(WHEEL.length);
  }

  @Test
  void itsOwnPolicyDecidesWhetherOneGetsWhatAnotherFetched() throws Exception {
    ask(gate(FILES), FILES, WHEEL);

    String refused = ask(gate(INDEX), FILES, WHEEL);

    assertThat(refused).isEqualTo("302 " + index.at(FILES + NAME));
    // Neither did the server ask for it on the sandbox's behalf.
    assertThat(index.asked(FILES + NAME)).isEqualTo(1);
  }

  @Test
  void whatHasAnotherDigestIsNeverKept() throws Exception {
    byte[] promised = "what the index promises".getBytes(UTF_8);

    assertThat(ask(gate(FILES), FILES, promised)).startsWith("302 ");

    assertThat(kept()).isEmpty();
    assertThat(cache.used()).isZero();
    // Nor does the digest open what another host has: the same name is another file there.
    ask(gate(FILES), FILES, WHEEL);
    index.put(OTHER + NAME, "application/zip", promised);
    assertThat(ask(gate(OTHER), OTHER, WHEEL)).startsWith("302 ");
    assertThat(ask(gate(OTHER), OTHER, promised)).isEqualTo("200 what the index promises");
    assertThat(ask(gate(FILES), FILES, WHEEL)).isEqualTo("200 the bytes of a wheel");
  }

  @Test
  void whatIsDamagedIsFoundAndFetchedAnew() throws Exception {
    ask(gate(FILES), FILES, WHEEL);
    Path file = folder.resolve("cache").resolve(kept().getFirst());
    byte[] damaged = WHEEL.clone();
    damaged[3] ^= 1;
    Files.write(file, damaged);

    assertThat(ask(gate(FILES), FILES, WHEEL)).isEqualTo("200 the bytes of a wheel");

    assertThat(index.asked(FILES + NAME)).isEqualTo(2);
    assertThat(file).hasBinaryContent(WHEEL);
    assertThat(cache.used()).isEqualTo(WHEEL.length);
  }

  @Test
  void theNextProcessHasWhatWasFinished() throws Exception {
    ask(gate(FILES), FILES, WHEEL);
    Path half = folder.resolve("cache").resolve(kept().getFirst() + ".part");
    Files.writeString(half, "half");

    reopen(DataSize.ofMebibytes(1));

    assertThat(half).doesNotExist();
    assertThat(cache.used()).isEqualTo(WHEEL.length);
    PackageMirror.Visit visit = mirror.open(gate(FILES));
    ask(visit, FILES, WHEEL);
    assertThat(visit.count(PackageMirror.Way.CACHED)).isEqualTo(1);
    assertThat(index.asked(FILES + NAME)).isEqualTo(1);
  }

  @Test
  void theLongestUnusedGoesWhenRoomIsNeeded() throws Exception {
    reopen(new DataSize(10_000));
    for (String name : List.of("a", "b", "c", "d")) {
      ask(gate(FILES), FILES, sized(name, 2400));
    }
    ask(gate(FILES), FILES, sized("a", 2400));
    assertThat(ask(gate(FILES), FILES, sized("e", 2400))).startsWith("200 ");

    assertThat(cache.used()).isEqualTo(9600);
    var visit = mirror.open(gate(FILES));
    ask(visit, FILES, sized("a", 2400));
    ask(visit, FILES, sized("b", 2400));
    assertThat(visit.count(PackageMirror.Way.CACHED)).as("a").isEqualTo(1);
    assertThat(visit.count(PackageMirror.Way.FETCHED)).as("b").isEqualTo(1);
    // One file may not push out all others.
    assertThat(ask(gate(FILES), FILES, sized("f", 2600))).startsWith("302 ");
    assertThat(kept()).hasSize(4);

    Files.setLastModifiedTime(
        folder.resolve("cache").resolve(kept().getFirst()), FileTime.from(Instant.EPOCH));
    String oldest = kept().getFirst();
    reopen(new DataSize(9000));
    assertThat(kept()).hasSize(3).doesNotContain(oldest);
  }

  @Test
  @Timeout(20)
  void nobodyIsKeptWaitingForAFileThatComesSlowly() throws Exception {
    reopen(DataSize.ofMebibytes(1), Duration.ofMillis(300));
    CountDownLatch held = index.hold(FILES + NAME);
    PackageMirror.Visit visit = mirror.open(gate(FILES));

    assertThat(ask(visit, FILES, WHEEL)).isEqualTo("302 " + index.at(FILES + NAME));
    assertThat(ask(gate(FILES), FILES, WHEEL)).as("another").startsWith("302 ");

    held.countDown();
    while (!ask(visit, FILES, WHEEL).startsWith("200 ")) {
      Thread.onSpinWait();
    }
    assertThat(index.asked(FILES + NAME)).as("the first fetch went on").isEqualTo(1);
    assertThat(cache.used()).isEqualTo(WHEEL.length);
  }

  @Test
  @Timeout(20)
  void whatAnInstallFetchesEndsWithIt() throws Exception {
    reopen(DataSize.ofMebibytes(1), Duration.ofMillis(300));
    CountDownLatch held = index.hold(FILES + NAME);
    PackageMirror.Visit visit = mirror.open(gate(FILES));
    ask(visit, FILES, WHEEL);

    visit.close();

    while (!kept().isEmpty()) {
      Thread.onSpinWait();
    }
    held.countDown();
    reopen(DataSize.ofMebibytes(1));
    assertThat(ask(gate(FILES), FILES, WHEEL)).startsWith("200 ");
    assertThat(index.asked(FILES + NAME)).isEqualTo(2);
  }

  @Test
  @Timeout(20)
  void aFileThatIsSaidToBeTooLargeIsNotBegun() throws Exception {
    ask(gate(FILES), FILES, WHEEL);
    long used = cache.used();
    index.hold(FILES + NAME);

    assertThat(ask(gate(FILES), FILES, sized("x", 300_000))).startsWith("302 ");

    assertThat(cache.used()).isEqualTo(used);
  }

  @Test
  void whatIsNoPlaceOfPackagesIsNotFetchedForAnybody() throws Exception {
    index.put(ELSEWHERE + NAME, "application/zip", WHEEL);

    assertThat(ask(gate(ELSEWHERE), ELSEWHERE, WHEEL)).startsWith("302 ");

    assertThat(index.asked(ELSEWHERE + NAME)).isZero();
    PackageMirror.Visit visit = mirror.open(gate(INDEX, FILES));
    String odd = Base64.getUrlEncoder().encodeToString("file:///etc/passwd".getBytes(UTF_8));
    for (String path :
        List.of(
            "",
            "file/sha256-00/x/y",
            "file/md5-" + "0".repeat(32) + "/x/y",
            "file/sha256-" + "0".repeat(64) + "/" + odd.replace("=", "") + "/y",
            "file/sha256-" + "0".repeat(64) + "/!!/y",
            "index/" + odd.replace("=", "") + "/demo/",
            "index/x/../demo/")) {
      assertThat(visit.get(path, "").status()).as(path).isEqualTo(404);
    }
  }

  @Test
  void whoGoesSlowlyByPolicyKeepsNobodyWaiting() throws Exception {
    Gate slow = gate(FILES);
    slow.policy(slow.policy().withBudget(0, 1));

    assertThat(ask(slow, FILES, WHEEL)).startsWith("302 ");
    assertThat(index.asked(FILES + NAME)).isZero();
    assertThat(ask(gate(FILES), FILES, WHEEL)).startsWith("200 ");
  }

  @Test
  void pagesOfAnIndexNameTheMirrorWhereItServes() throws Exception {
    String digest = TestIndex.sha256(WHEEL);
    index.project(INDEX, "demo", index.at(FILES + NAME), digest);
    index.jsonProject(INDEX, "demo", index.at(FILES + NAME), digest);
    index.project(INDEX, "far", index.at(ELSEWHERE + NAME), digest);
    PackageMirror.Visit visit = mirror.open(gate(INDEX, FILES));
    String place = visit.address() + "/file/sha256-" + digest + "/";

    String html = page(visit, "demo", "text/html");
    assertThat(html).contains("href=\"" + place, NAME + "#sha256=" + digest);
    String json = page(visit, "demo", IndexPage.JSON);
    assertThat(json).contains("\"url\":\"" + place, "\"sha256\":\"" + digest + "\"");
    assertThat(page(visit, "far", "text/html")).contains(index.at(ELSEWHERE + NAME) + "#sha256=");
    assertThat(page(visit, "none", "text/html"))
        .isEqualTo("302 " + index.at(INDEX + "/simple/none/"));
    assertThat(page(mirror.open(gate(FILES)), "demo", "text/html")).startsWith("302 ");
    // What is said of a file beside it is the index's own.
    String about = place + written(index.at(FILES + NAME)) + NAME + ".metadata";
    assertThat(text(visit.get(about.substring(visit.address().length() + 1), "")))
        .isEqualTo("302 " + index.at(FILES + NAME) + ".metadata");
  }

  private String page(PackageMirror.Visit visit, String project, String accept) throws Exception {
    String path = "index/" + written(index.at(INDEX + "/simple")) + "/" + project + "/";
    return text(visit.get(path, accept));
  }

  private byte[] sized(String name, int size) {
    byte[] bytes = name.repeat(size).getBytes(UTF_8);
    index.put(FILES + NAME, "application/zip", bytes);
    return bytes;
  }

  private String ask(Gate gate, String host, byte[] promised) throws Exception {
    return ask(mirror.open(gate), host, promised);
  }

  private String ask(PackageMirror.Visit visit, String host, byte[] promised) throws Exception {
    URI uri = index.at(host + NAME);
    return text(
        visit.get("file/sha256-" + TestIndex.sha256(promised) + "/" + written(uri) + NAME, ""));
  }

  private static String written(URI uri) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(uri.toString().getBytes(UTF_8));
  }

  /** The status, and the body or where to ask instead. */
  private static String text(OwnHost.Reply reply) throws IOException {
    try (reply) {
      var bytes = ByteBuffer.allocate((int) reply.body().length());
      while (bytes.hasRemaining() && reply.body().channel().read(bytes) >= 0) {}
      String body = new String(bytes.array(), UTF_8);
      return reply.status() + " " + (reply.location() == null ? body : reply.location());
    }
  }

  private List<String> kept() throws IOException {
    try (Stream<Path> files = Files.list(folder.resolve("cache"))) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  private Gate gate(String... hosts) {
    Gate gate = proxy.inner("sbtest", _ -> {});
    gate.policy(Policy.NOTHING.withAllow(rules(hosts)));
    return gate;
  }

  private List<Rule> rules(String... hosts) {
    return Stream.of(hosts).map(host -> Rule.parse(host + ":" + index.port())).toList();
  }

  private static Presets none() {
    return new Presets() {
      @Override
      public Set<String> names() {
        return Set.of();
      }

      @Override
      public List<Rule> rules(String name) {
        return List.of();
      }
    };
  }
}
