package dev.carrel.e2e.security;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import dev.carrel.engine.testkit.Eventually;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Attacks on the files of packages that sandboxes share, and on the server that fetches them. */
@SuppressWarnings("NullAway") // set before each test
class PackageAttackIT {
  private static final String HOST = "index.example.net";
  private static final String BOX = "{\"memory_mb\":1024,\"network\":{\"presets\":[\"packages\"]}}";

  /** Finds where the install under way is served, and tries there what is not meant to be done. */
  private static final String ATTACK =
      """
      import base64, glob, hashlib, json, urllib.error, urllib.request
      class Stay(urllib.request.HTTPRedirectHandler):
          def redirect_request(self, *_):
              return None
      opener = urllib.request.build_opener(Stay)
      def place():
          for name in glob.glob('/proc/[0-9]*/environ'):
              try:
                  for part in open(name, 'rb').read().split(b'\\0'):
                      if part.startswith(b'CARREL_PACKAGES='):
                          return part.decode().split('=', 1)[1]
              except OSError:
                  pass
      def ask(url, method='GET', data=None):
          try:
              with opener.open(urllib.request.Request(url, data, method=method), timeout=20) as got:
                  return '%d %d' % (got.status, len(got.read()))
          except urllib.error.HTTPError as e:
              return '%d %s' % (e.code, e.headers.get('Location', '-'))
      def at(address):
          return base64.urlsafe_b64encode(address.encode()).decode().rstrip('=')
      here = given or place()
      evil = b'evil bytes'
      mark = 'sha256-' + hashlib.sha256(evil).hexdigest()
      file = '%s/file/%s/%s/%s' % (here, mark, at(free), free.rsplit('/', 1)[1])
      print(json.dumps({
          'here': here,
          'put': ask(file, 'PUT', evil),
          'post': ask(file, 'POST', evil),
          'delete': ask(file, 'DELETE'),
          'digest': ask(file),
          'weak': ask('%s/file/md5-%s/%s/x' % (here, hashlib.md5(evil).hexdigest(), at(free))),
          'up': ask('%s/file/%s/%s/..%%2f..%%2fx' % (here, mark, at(straight))),
          'dots': ask(here + '/../../../../etc/passwd'),
          'disk': ask('%s/file/%s/%s/passwd' % (here, mark, at('file:///etc/passwd'))),
          'straight': ask('%s/file/%s/%s/x' % (here, mark, at(straight))),
          'guessed': ask('http://packages.carrel.internal/' + '0' * 32 + '/file/x/y/z'),
      }))
      """;

  @TempDir private Path folder;
  private PackageSite site;
  private ServerProcess server;
  private Api api;

  @BeforeEach
  void open() throws Exception {
    site = new PackageSite(HOST);
    start();
  }

  private void start() throws Exception {
    server =
        Carrel.start(
            folder,
            Map.of(
                "CARREL_EGRESS_HOSTS",
                HOST + "=127.0.0.1",
                "CARREL_EGRESS_PACKAGES",
                HOST + ":" + site.port(),
                "PIP_INDEX_URL",
                site.index(),
                "PIP_TRUSTED_HOST",
                HOST));
    api = new Api(server.address(), server.token());
  }

  @AfterEach
  void close() throws Exception {
    // First: who waits for the rest of a file keeps a server from ending.
    site.close();
    api.close();
    server.close();
  }

  @Test
  void nothingThatASandboxAsksForReachesAnother() throws Exception {
    String honest = site.offer("honest", "who = 'the index'");
    String free = site.offer("free", "who = 'free'");
    try (Box evil = api.create(BOX);
        Box other = api.create(BOX)) {
      site.stopHalfWay(honest);
      CompletableFuture<JsonNode> installing =
          CompletableFuture.supplyAsync(() -> install(evil, "honest"));
      Eventually.holds(
          "the file is under way", Duration.ofMinutes(2), () -> !unfinished().isEmpty());
      JsonNode tried = attack(evil, free, null);
      JsonNode stranger = attack(other, free, tried.get("here").asText());
      site.goOn();

      assertThat(installing.get().get("success").asBoolean()).as(installing.toString()).isTrue();
      for (String method : List.of("put", "post", "delete")) {
        assertThat(tried.get(method).asText()).as(method).startsWith("4");
      }
      // Other bytes than were promised: the client may see for itself where they are.
      assertThat(tried.get("digest").asText()).isEqualTo("302 " + free);
      for (String trick : List.of("weak", "disk", "guessed", "dots")) {
        assertThat(tried.get(trick).asText()).as(trick).startsWith("4");
      }
      for (String sent : List.of("up", "straight")) {
        assertThat(tried.get(sent).asText()).as(sent).startsWith("302 http://127.0.0.1:");
      }
      assertThat(site.asked).noneMatch(one -> one.startsWith("127.0.0.1"));
      // Where one sandbox is served no other is.
      stranger
          .fieldNames()
          .forEachRemaining(
              name -> {
                if (!name.equals("here")) {
                  assertThat(stranger.get(name).asText()).as(name).startsWith("4");
                }
              });
      assertThat(kept()).hasSize(1);

      JsonNode second = install(other, "honest");
      assertThat(second.get("files_cached").asInt()).as(second.toString()).isEqualTo(1);
      assertThat(other.shell("python3 -c 'import honest; print(honest.who)'"))
          .contains("the index");
    }
  }

  @Test
  void whatAKilledServerHadNotFinishedIsNotThere() throws Exception {
    site.stopHalfWay(site.offer("halved", "who = 'whole'"));
    Box first = api.create(BOX);
    CompletableFuture<JsonNode> installing =
        CompletableFuture.supplyAsync(() -> install(first, "halved"));
    Eventually.holds("the file is under way", Duration.ofMinutes(2), () -> !unfinished().isEmpty());
    server.kill();
    assertThat(installing.handle((_, failure) -> failure != null).get()).isTrue();
    assertThat(unfinished()).isNotEmpty();
    site.goOn();
    api.close();
    start();

    assertThat(unfinished()).isEmpty();
    assertThat(kept()).isEmpty();
    try (Box _ = new Box(api, first.id(), first.created());
        Box next = api.create(BOX)) {
      JsonNode whole = install(next, "halved");
      assertThat(whole.get("success").asBoolean()).as(whole.toString()).isTrue();
      assertThat(whole.get("files_fetched").asInt()).as(whole.toString()).isEqualTo(1);
      assertThat(next.shell("python3 -c 'import halved; print(halved.who)'")).contains("whole");
    }
  }

  private JsonNode attack(Box box, String free, @Nullable String given) throws IOException {
    String names =
        "free = '%s'\nstraight = 'http://127.0.0.1:%d/files/x'\ngiven = %s\n"
            .formatted(free, site.port(), given == null ? "None" : "'" + given + "'");
    JsonNode ran = box.python(names + ATTACK);
    assertThat(ran.get("success").asBoolean()).as(ran.toString()).isTrue();
    return Api.JSON.readTree(ran.get("stdout").asText());
  }

  private JsonNode install(Box box, String name) {
    return api.call(
            "POST",
            box.path() + "/packages",
            "{\"manager\":\"pip\",\"packages\":[\"" + name + "\"]}")
        .json();
  }

  private List<String> unfinished() {
    return files(true);
  }

  private List<String> kept() {
    return files(false);
  }

  private List<String> files(boolean unfinished) {
    try (Stream<Path> found = Files.list(folder.resolve("data/packages"))) {
      return found
          .map(file -> file.getFileName().toString())
          .filter(name -> name.endsWith(".part") == unfinished)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
