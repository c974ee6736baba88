package dev.carrel.control.egress;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.sun.net.httpserver.HttpServer;
import dev.carrel.control.Control;
import dev.carrel.control.ControlFixture;
import dev.carrel.control.ControlSettings;
import dev.carrel.control.approval.Approval;
import dev.carrel.control.approval.Approvals;
import dev.carrel.control.approval.AskApproval;
import dev.carrel.control.audit.AuditQuery;
import dev.carrel.control.event.Event;
import dev.carrel.control.event.EventFilter;
import dev.carrel.control.event.Events;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.OnIdle;
import dev.carrel.control.sandbox.PoolSettings;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.egress.Decision;
import dev.carrel.egress.Host;
import dev.carrel.egress.Policy;
import dev.carrel.egress.Rule;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The way out of real sandboxes, to a server on this host that only this test opens. */
@SuppressWarnings("NullAway") // set before each test
final class EgressIT {
  private static final String NAME = "files.example.net";

  private HttpServer server;
  private ControlFixture fixture;

  @BeforeEach
  void serve() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          byte[] body = ("hello from " + exchange.getRequestURI()).getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
    server.stop(0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"process", "native"})
  void nothingPassesUntilAPolicyAllowsIt(String engine) throws Exception {
    fixture = new ControlFixture(engine, this::pinned);
    Sandbox sandbox = fixture.sandbox();

    String refused = curl(sandbox.id(), url());
    assertThat(refused)
        .contains("egress_not_allowed", "carrel egress allow " + sandbox.id(), "403");

    fixture.control().egress().set(ALICE, sandbox.id(), allowed());
    assertThat(curl(sandbox.id(), url())).isEqualTo("hello from /x 200");
    assertThat(curl(sandbox.id(), "http://other.example.net/")).contains("egress_not_allowed");

    fixture.control().egress().set(ALICE, sandbox.id(), Policy.NOTHING);
    assertThat(curl(sandbox.id(), url())).contains("egress_not_allowed");
  }

  @ParameterizedTest
  @ValueSource(strings = {"process", "native"})
  void personOpensAWayAndShutsItAgain(String engine) throws Exception {
    fixture = new ControlFixture(engine, this::pinned);
    Sandbox sandbox = fixture.sandbox();
    Approvals approvals = fixture.control().approvals();
    var admin = new Caller("office", "ada", Caller.Role.ADMIN);
    Approval asked =
        approvals.ask(
            ALICE,
            new AskApproval(
                Approval.Kind.EGRESS,
                NAME + ":" + server.getAddress().getPort(),
                sandbox.id(),
                null,
                Approval.Scope.SANDBOX,
                "the files",
                null));
    assertThat(curl(sandbox.id(), url())).contains("egress_not_allowed");

    approvals.decide(admin, asked.id(), true, null, null, "");
    assertThat(curl(sandbox.id(), url())).isEqualTo("hello from /x 200");
    fixture.restart();
    assertThat(curl(sandbox.id(), url())).isEqualTo("hello from /x 200");

    fixture.control().approvals().withdraw(admin, asked.id());
    assertThat(curl(sandbox.id(), url())).contains("egress_not_allowed");
  }

  /** As many rules as a policy may have, and one more that a person allows. */
  @Test
  void whatAPersonAllowsComesOnTopOfAFullPolicy() throws Exception {
    fixture = new ControlFixture("process", this::pinned);
    List<Rule> full =
        IntStream.range(0, 500).mapToObj(i -> Rule.parse("h" + i + ".example.net")).toList();
    Sandbox sandbox = create(Policy.NOTHING.withAllow(full));
    var admin = new Caller("office", "ada", Caller.Role.ADMIN);
    Approval asked =
        fixture
            .control()
            .approvals()
            .ask(
                ALICE,
                new AskApproval(
                    Approval.Kind.EGRESS,
                    NAME + ":" + server.getAddress().getPort(),
                    sandbox.id(),
                    null,
                    Approval.Scope.SANDBOX,
                    "the files",
                    null));
    fixture.control().approvals().decide(admin, asked.id(), true, null, null, "");
    assertThat(curl(sandbox.id(), url())).isEqualTo("hello from /x 200");
    fixture.restart();
    assertThat(curl(sandbox.id(), url())).isEqualTo("hello from /x 200");

    var more = new ArrayList<>(full);
    more.add(Rule.parse("one-more.example.net"));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> create(Policy.NOTHING.withAllow(more)))
        .withMessageContaining("at most 500 rules");
  }

  @ParameterizedTest
  @ValueSource(strings = {"process", "native"})
  void wayOutSurvivesTheServer(String engine) throws Exception {
    fixture = new ControlFixture(engine, this::pinned);
    Sandbox sandbox = create(allowed());
    assertThat(curl(sandbox.id(), url())).isEqualTo("hello from /x 200");

    fixture.restart();

    assertThat(curl(sandbox.id(), url())).isEqualTo("hello from /x 200");
    Control control = fixture.control();
    assertThat(control.egress().show(ALICE, sandbox.id()).policy()).isEqualTo(allowed());
    control.sandboxes().stop(ALICE, sandbox.id());
    control.sandboxes().start(ALICE, sandbox.id());
    assertThat(curl(sandbox.id(), url())).isEqualTo("hello from /x 200");
  }

  @ParameterizedTest
  @ValueSource(strings = {"process", "native"})
  void warmBoxHasThePolicyOfItsOwner(String engine) throws Exception {
    fixture = new ControlFixture(engine, settings -> pinned(settings).withPools(pool()));
    eventually(() -> fixture.control().sandboxes().pools().status().getFirst().idle() == 1);

    Sandbox sandbox = create(allowed());

    assertThat(fixture.control().sandboxes().pools().status().getFirst().hits()).isEqualTo(1);
    assertThat(curl(sandbox.id(), url())).isEqualTo("hello from /x 200");
  }

  @ParameterizedTest
  @ValueSource(strings = "process")
  void decisionsAreCountedToldAndDrafted(String engine) throws Exception {
    fixture = new ControlFixture(engine, settings -> observing(pinned(settings)));
    Sandbox sandbox = create(Policy.NOTHING.withMode(Policy.Mode.OBSERVE));
    Egress egress = fixture.control().egress();
    EventFilter ofEgress =
        EventFilter.of(null).withSandbox(sandbox.id()).withKinds(Set.of("egress"));
    Events.Subscription news = fixture.control().sandboxes().events(ALICE, ofEgress, null);

    curl(sandbox.id(), url());
    curl(sandbox.id(), url());

    CountedDecision observed = egress.decisions(ALICE, sandbox.id()).getFirst();
    assertThat(observed.count()).isEqualTo(2);
    assertThat(observed.last().outcome()).isEqualTo(Decision.Outcome.OBSERVED);
    assertThat(egress.show(ALICE, sandbox.id()).draft()).isEqualTo(allowed());
    assertThat(egress.show(ALICE, sandbox.id()).received()).isPositive();
    Event event = news.next(Duration.ofSeconds(20));
    assertThat(event).isNotNull();
    assertThat(event.kind()).isEqualTo("egress.observed");
    assertThat(event.details()).containsEntry("host", NAME);
    eventually(
        () ->
            fixture.control().audit().page(ALICE, AuditQuery.newest(100)).stream()
                .anyMatch(record -> record.entry().action().equals("egress.observed")));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> egress.show(MALLORY, sandbox.id()))
        .matches(e -> e.code() == ErrorCode.SANDBOX_NOT_FOUND);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> egress.set(MALLORY, sandbox.id(), Policy.NOTHING))
        .matches(e -> e.code() == ErrorCode.SANDBOX_NOT_FOUND);
  }

  @ParameterizedTest
  @ValueSource(strings = "process")
  void budgetOutlivesTheServer(String engine) throws Exception {
    fixture = new ControlFixture(engine, this::pinned);
    Sandbox sandbox = create(allowed().withBudget(700, 0));
    assertThat(curl(sandbox.id(), url())).isEqualTo("hello from /x 200");

    fixture.restart();

    assertThat(curl(sandbox.id(), url() + "x".repeat(600))).contains("egress_budget");
    assertThat(curl(sandbox.id(), url())).contains("egress_budget");
  }

  @Test
  void whatComesThroughTheProxyKeepsASandboxAlive() throws Exception {
    var enough = new CountDownLatch(1);
    server.createContext(
        "/slow",
        exchange -> {
          try (exchange) {
            exchange.sendResponseHeaders(200, 0);
            do {
              exchange.getResponseBody().write('.');
              exchange.getResponseBody().flush();
            } while (!enough.await(200, TimeUnit.MILLISECONDS));
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        });
    fixture =
        new ControlFixture(
            "process",
            settings ->
                pinned(
                    settings.withSandboxes(
                        settings
                            .sandboxes()
                            .withWatch(Duration.ofDays(1), Duration.ofMillis(50)))));
    Sandbox reading = brief("/usr/bin/curl -s -m 60 " + url().replace("/x", "/slow"));
    Sandbox waiting = brief("sleep 60");

    eventually(() -> status(waiting) == SandboxStatus.STOPPED);
    assertThat(fixture.control().sandboxes().get(ALICE, waiting.id()).failure())
        .satisfies(failure -> assertThat(failure.hint()).contains("in the background"));
    assertThat(status(reading)).isEqualTo(SandboxStatus.RUNNING);
    enough.countDown();
    eventually(() -> status(reading) == SandboxStatus.STOPPED);
  }

  /** One that is soon idle, with a command that was left running in it. */
  private Sandbox brief(String command) throws InterruptedException {
    Sandbox sandbox =
        fixture
            .control()
            .sandboxes()
            .create(
                ALICE,
                CreateSandbox.defaults()
                    .withNetwork(CreateSandbox.Network.of(allowed()))
                    .withExpiry(CreateSandbox.Expiry.idle(3, OnIdle.STOP)));
    fixture
        .control()
        .execs()
        .run(
            ALICE,
            sandbox.id(),
            ExecStart.of(Command.shell("nohup " + command + " > /dev/null 2>&1 &")));
    return sandbox;
  }

  private SandboxStatus status(Sandbox sandbox) {
    return fixture.control().sandboxes().get(ALICE, sandbox.id()).status();
  }

  @ParameterizedTest
  @ValueSource(strings = "process")
  void nothingIsLeftOfAGate(String engine) throws Exception {
    fixture = new ControlFixture(engine, this::pinned);
    Sandbox sandbox = fixture.sandbox();
    Path folder = fixture.data().resolve("egress").resolve(sandbox.id().value());
    assertThat(folder).isDirectory();

    fixture.control().sandboxes().delete(ALICE, sandbox.id());

    assertThat(folder).doesNotExist();
    Files.createDirectory(fixture.data().resolve("egress/left"));
    fixture.restart();
    try (Stream<Path> left = Files.list(fixture.data().resolve("egress"))) {
      assertThat(left).isEmpty();
    }
  }

  private String url() {
    return "http://" + NAME + ":" + server.getAddress().getPort() + "/x";
  }

  private Policy allowed() {
    return Policy.NOTHING.withAllow(
        List.of(Rule.parse(NAME + ":" + server.getAddress().getPort())));
  }

  private Sandbox create(Policy policy) {
    return fixture
        .control()
        .sandboxes()
        .create(ALICE, CreateSandbox.defaults().withNetwork(CreateSandbox.Network.of(policy)));
  }

  private ControlSettings pinned(ControlSettings settings) {
    NetworkSettings network = settings.network();
    return settings.withNetwork(
        network.withProxy(
            network
                .proxy()
                .withPinned(Map.of(Host.parse(NAME), List.of(InetAddress.getLoopbackAddress())))));
  }

  private static ControlSettings observing(ControlSettings settings) {
    return settings.withNetwork(settings.network().withAllowObserve(true));
  }

  private static PoolSettings pool() {
    return PoolSettings.defaults()
        .withPools(List.of(new PoolSettings.Pool("host", null, 1, 1, Set.of())));
  }

  /** The answer's body and its status. */
  private String curl(SandboxId id, String url) throws InterruptedException {
    return fixture
        .control()
        .execs()
        .run(
            ALICE,
            id,
            ExecStart.of(Command.of("/usr/bin/curl", "-s", "-w", " %{http_code}", "-m", "30", url)))
        .stdout()
        .text();
  }
}
