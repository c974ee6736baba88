package dev.carrel.control.budget;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.sun.net.httpserver.HttpServer;
import dev.carrel.control.ControlFixture;
import dev.carrel.control.ControlSettings;
import dev.carrel.control.audit.AuditQuery;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.egress.NetworkSettings;
import dev.carrel.control.event.Event;
import dev.carrel.control.event.EventFilter;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.furnish.Furnishing;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.PoolSettings;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.egress.Host;
import dev.carrel.egress.Policy;
import dev.carrel.egress.Rule;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

@SuppressWarnings("NullAway") // set by each test
final class BudgetsIT {
  private static final Caller ADMIN = new Caller("acme", "ada", Caller.Role.ADMIN);
  private static final String NAME = "files.example.net";

  private ControlFixture fixture;

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void executionsEndWithTheBudgetAndGoOnWhenItIsRaised() throws Exception {
    fixture = new ControlFixture();
    Sandbox sandbox = fixture.sandbox();
    run(sandbox.id(), "true");
    limit(ADMIN, sandbox.id(), Resource.EXECUTIONS, 2);

    assertThat(run(sandbox.id(), "true").exitCode()).isZero();
    fixture
        .control()
        .contexts()
        .execute(ALICE, sandbox.id(), ExecuteCode.of(Language.BASH, "echo 1"));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> run(sandbox.id(), "true"))
        .matches(e -> e.code() == ErrorCode.BUDGET_EXHAUSTED)
        .withMessageContaining("executions 2 of 2")
        .withMessageContaining(sandbox.id().value())
        .matches(
            e -> e.hint().orElse("").contains("carrel limits budget " + sandbox.id()), "a way out");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () ->
                fixture
                    .control()
                    .contexts()
                    .execute(ALICE, sandbox.id(), ExecuteCode.of(Language.BASH, "echo 1")))
        .matches(e -> e.code() == ErrorCode.BUDGET_EXHAUSTED);

    fixture.restart();
    assertThatExceptionOfType(SandboxException.class)
        .as("it outlives the server")
        .isThrownBy(() -> run(sandbox.id(), "true"))
        .matches(e -> e.code() == ErrorCode.BUDGET_EXHAUSTED);
    limit(ADMIN, sandbox.id(), Resource.EXECUTIONS, 3);
    assertThat(run(sandbox.id(), "true").exitCode()).isZero();
  }

  @Test
  void aNamespaceSharesOneAndItIsToldOnce() throws Exception {
    fixture = new ControlFixture();
    Sandbox first = inLab();
    Sandbox second = inLab();
    Sandbox outside = fixture.sandbox();
    fixture.control().budgets().setNamespace(ADMIN, "lab", of(Resource.EXECUTIONS, 2), false);

    run(first.id(), "true");
    run(second.id(), "true");
    for (int i = 0; i < 3; i++) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> run(first.id(), "true"))
          .withMessageContaining("namespace 'lab'");
    }
    assertThat(run(outside.id(), "true").exitCode()).isZero();
    assertThat(fixture.control().budgets().ofNamespace(ALICE, "lab").used())
        .containsEntry(Resource.EXECUTIONS, 2.0);
    assertThat(
            fixture
                .control()
                .sandboxes()
                .recentEvents(
                    ALICE,
                    new EventFilter("acme", "lab", null, Set.of(Event.RESOURCE_EXCEEDED)),
                    9))
        .singleElement()
        .satisfies(event -> assertThat(event.details()).containsEntry("budget", "executions"));
    assertThat(
            fixture
                .control()
                .audit()
                .page(ALICE, new AuditQuery("lab", null, "budget.set", null, null, null, 9)))
        .hasSize(1);
  }

  @Test
  void whoSpendsCanOnlyNarrow() throws Exception {
    fixture = new ControlFixture();
    Sandbox sandbox = fixture.sandbox();
    limit(ALICE, sandbox.id(), Resource.EXECUTIONS, 10);
    limit(ALICE, sandbox.id(), Resource.EXECUTIONS, 5);

    Budgets budgets = fixture.control().budgets();
    for (Runnable attempt :
        List.<Runnable>of(
            () -> limit(ALICE, sandbox.id(), Resource.EXECUTIONS, 6),
            () -> budgets.setSandbox(ALICE, sandbox.id(), Map.of(), false),
            () -> budgets.setSandbox(ALICE, sandbox.id(), of(Resource.CPU_SECONDS, 1), false),
            () -> budgets.setSandbox(ALICE, sandbox.id(), of(Resource.EXECUTIONS, 5), true))) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(attempt::run)
          .matches(e -> e.code() == ErrorCode.FORBIDDEN);
    }
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> limit(MALLORY, sandbox.id(), Resource.EXECUTIONS, 1))
        .matches(e -> e.code() == ErrorCode.SANDBOX_NOT_FOUND);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> limit(ADMIN, sandbox.id(), Resource.EXECUTIONS, -1))
        .matches(e -> e.code() == ErrorCode.INVALID_INPUT);
    limit(ADMIN, sandbox.id(), Resource.EXECUTIONS, 100);
  }

  @Test
  void bytesEndWithTheBudgetAlsoInTheMiddleOfABody() throws Exception {
    HttpServer server = large();
    try {
      fixture = new ControlFixture("process", BudgetsIT::pinned);
      int port = server.getAddress().getPort();
      Policy policy = Policy.NOTHING.withAllow(List.of(Rule.parse(NAME + ":" + port)));
      Sandbox sandbox =
          fixture
              .control()
              .sandboxes()
              .create(
                  ALICE,
                  CreateSandbox.defaults()
                      .withNamespace("lab")
                      .withNetwork(CreateSandbox.Network.of(policy)));
      fixture
          .control()
          .budgets()
          .setNamespace(ADMIN, "lab", of(Resource.EGRESS_BYTES, 1_000_000), false);

      String curl = "curl -s -m 60 -o /dev/null -w '%{http_code} %{size_download}' http://";
      ExecResult cut = run(sandbox.id(), curl + NAME + ":" + port + "/");
      assertThat(cut.exitCode()).as("the body was cut").isNotZero();
      long came = Long.parseLong(cut.stdout().text().replaceFirst(".* ", ""));
      assertThat(came).isLessThan(2_000_000);
      String refused =
          run(sandbox.id(), "curl -s -m 60 http://" + NAME + ":" + port + "/").stdout().text();
      assertThat(refused).contains("egress_budget", "namespace 'lab'", "carrel limits budget");
      eventually(
          () ->
              fixture
                      .control()
                      .budgets()
                      .ofNamespace(ALICE, "lab")
                      .used()
                      .get(Resource.EGRESS_BYTES)
                  > 1_000_000);
      fixture.restart();
      assertThat(
              run(sandbox.id(), "curl -s -m 60 http://" + NAME + ":" + port + "/").stdout().text())
          .contains("egress_budget");

      Sandbox frugal =
          begin(
              CreateSandbox.defaults().withNetwork(CreateSandbox.Network.of(policy)),
              Resource.EGRESS_BYTES,
              500_000);
      ExecResult less = run(frugal.id(), curl + NAME + ":" + port + "/");
      assertThat(less.exitCode()).as("the body was cut from the beginning on").isNotZero();
      assertThat(Long.parseLong(less.stdout().text().replaceFirst(".* ", "")))
          .isLessThan(1_500_000);
      assertThat(
              run(frugal.id(), "curl -s -m 60 http://" + NAME + ":" + port + "/").stdout().text())
          .contains("egress_budget", frugal.id().value());
    } finally {
      server.stop(0);
    }
  }

  private static HttpServer large() throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          byte[] body = new byte[8_000_000];
          exchange.sendResponseHeaders(200, body.length);
          try (var out = exchange.getResponseBody()) {
            out.write(body);
          }
        });
    server.start();
    return server;
  }

  @Test
  void aBudgetForWhatIsThereAlreadyIsNobodys() throws Exception {
    var pool = new PoolSettings.Pool("host", null, 1, 1, Set.of());
    fixture =
        new ControlFixture(
            settings -> settings.withPools(PoolSettings.defaults().withPools(List.of(pool))));
    CreateSandbox keyed = CreateSandbox.defaults().withSessionKey("k");
    Sandbox first = begin(keyed, Resource.EXECUTIONS, 5);
    eventually(() -> fixture.control().sandboxes().pools().status().getFirst().idle() == 1);

    assertThat(begin(keyed, Resource.EXECUTIONS, 1).id()).isEqualTo(first.id());

    Sandbox next = fixture.sandbox();
    assertThat(fixture.control().budgets().find(next)).isEmpty();
    fixture.restart();
    assertThat(fixture.control().budgets().find(next)).isEmpty();
    assertThat(fixture.control().budgets().find(first)).isPresent();
  }

  /** A sandbox that has its budget before there is a machine. */
  private Sandbox begin(CreateSandbox request, Resource resource, long limit)
      throws InterruptedException {
    var furnishing = new Furnishing(Map.of(resource, limit), List.of());
    return fixture
        .control()
        .furnishings()
        .create(ALICE, request, furnishing, null, () -> {})
        .created()
        .sandbox();
  }

  @Test
  void aSandboxThatUsedUpItsCpuTimeIsStoppedAndRunsNoMore() throws Exception {
    fixture = new ControlFixture("native", settings -> settings);
    Sandbox sandbox = begin(CreateSandbox.defaults(), Resource.CPU_SECONDS, 1);

    ExecResult ended = run(sandbox.id(), "while :; do :; done");

    assertThat(ended.exitCode()).isNotZero();
    eventually(
        () ->
            fixture.control().sandboxes().get(ALICE, sandbox.id()).status()
                == SandboxStatus.STOPPED);
    fixture.control().sandboxes().start(ALICE, sandbox.id());
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> run(sandbox.id(), "true"))
        .matches(e -> e.code() == ErrorCode.BUDGET_EXHAUSTED)
        .withMessageContaining("cpu_seconds");
    limit(ADMIN, sandbox.id(), Resource.CPU_SECONDS, 1000);
    eventually(() -> runs(sandbox.id()));
  }

  @Test
  void whatCannotBeMeasuredIsNotLetRun() throws Exception {
    fixture = new ControlFixture();
    Sandbox sandbox = fixture.sandbox();
    limit(ADMIN, sandbox.id(), Resource.CPU_SECONDS, 100);

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> run(sandbox.id(), "true"))
        .matches(e -> e.code() == ErrorCode.NOT_SUPPORTED);
  }

  /** It may have been stopped once more by a look that began before the budget was raised. */
  private boolean runs(SandboxId id) {
    try {
      fixture.control().sandboxes().start(ALICE, id);
      return run(id, "true").exitCode() == 0;
    } catch (SandboxException e) {
      return false;
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private void limit(Caller caller, SandboxId id, Resource resource, long limit) {
    fixture.control().budgets().setSandbox(caller, id, of(resource, limit), false);
  }

  private static Map<Resource, @Nullable Long> of(Resource resource, long limit) {
    var limits = new EnumMap<Resource, @Nullable Long>(Resource.class);
    limits.put(resource, limit);
    return limits;
  }

  private Sandbox inLab() {
    return fixture
        .control()
        .sandboxes()
        .create(ALICE, CreateSandbox.defaults().withNamespace("lab"));
  }

  private ExecResult run(SandboxId id, String line) throws InterruptedException {
    return fixture.control().execs().run(ALICE, id, ExecStart.of(Command.shell(line)));
  }

  private static ControlSettings pinned(ControlSettings settings) {
    NetworkSettings network = settings.network();
    return settings.withNetwork(
        network.withProxy(
            network
                .proxy()
                .withPinned(Map.of(Host.parse(NAME), List.of(InetAddress.getLoopbackAddress())))));
  }
}
