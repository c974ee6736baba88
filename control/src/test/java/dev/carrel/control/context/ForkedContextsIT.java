package dev.carrel.control.context;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.control.ChangedMachines;
import dev.carrel.control.ControlFixture;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.guest.Guest;
import dev.carrel.spi.Language;
import dev.carrel.spi.Preload;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Contexts on the engine that forks warm interpreters into its machines. */
final class ForkedContextsIT {
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
  void onlyTheFirstContextStartsFromScratch() throws InterruptedException {
    Sandbox sandbox = sandbox();
    Context first = create(sandbox, Map.of(), null);
    awaitZygote(sandbox, null);
    Context second = create(sandbox, Map.of("WHO", "second"), null);

    assertThat(first.start()).isEqualTo(Context.Start.COLD);
    assertThat(second.start()).isEqualTo(Context.Start.ZYGOTE);
    assertThat(run(sandbox, second, "import os; os.environ['WHO']")).isEqualTo("'second'");
    assertThat(run(sandbox, second, "import this_does_not_exist")).contains("ModuleNotFound");
    assertThat(fixture.control().telemetry().snapshot()).containsKey("kernels_forked");
  }

  /** Its code waits in the channel: what it says may come before the greeting. */
  @Test
  void whatAFirstCellPrintsIsWhole() throws InterruptedException {
    awaitZygote(sandbox(), null);
    for (int i = 0; i < 20; i++) {
      CodeResult result =
          fixture
              .control()
              .contexts()
              .execute(
                  ALICE,
                  sandbox().id(),
                  ExecuteCode.of(Language.PYTHON, "print('x' * 200_000); 1 + 1"));
      assertThat(result.stdout().totalBytes()).isEqualTo(200_001);
      assertThat(result.result()).isNotNull();
    }
  }

  /** Who leaves between the fork and the first word with it. */
  @Test
  void aForkThatNobodyJoinedIsEnded() throws Exception {
    fixture.close();
    var leaving = new AtomicReference<@Nullable Thread>();
    var armed = new AtomicBoolean();
    fixture =
        new ControlFixture(
            "native",
            settings -> settings,
            engine ->
                ChangedMachines.of(
                    engine,
                    (_, method) -> {
                      Thread here = Thread.currentThread();
                      if (method.equals("fork") && armed.getAndSet(false)) {
                        leaving.set(here);
                      } else if (method.equals("openGuest") && leaving.compareAndSet(here, null)) {
                        here.interrupt();
                      }
                    }));
    awaitZygote(sandbox(), null);
    Sandbox sandbox = sandbox();
    armed.set(true);
    var asked = new FutureTask<>(() -> create(sandbox, Map.of(), null));
    Thread.ofVirtual().start(asked);

    assertThatThrownBy(asked::get).hasCauseInstanceOf(SandboxException.class);
    assertThat(leaving).as("positive control: it left there").hasNullValue();
    Guest guest = fixture.control().sandboxes().requireRunning(ALICE, sandbox.id()).guest();
    eventually(() -> guest.list().isEmpty());
    assertThat(fixture.control().contexts().list(ALICE, sandbox.id())).isEmpty();
  }

  @Test
  void whatIsReadAtAStartNeedsOne() throws InterruptedException {
    Sandbox sandbox = sandbox();
    awaitZygote(sandbox, null);
    Context own = create(sandbox, Map.of("PYTHONHASHSEED", "7"), null);

    assertThat(own.start()).isEqualTo(Context.Start.COLD);
    assertThat(run(sandbox, own, "hash('x') % 1000"))
        .isEqualTo(run(sandbox, own, "hash('x') % 1000"));
  }

  @Test
  void fewOpenFilesAreEnoughForInterpreters() throws Exception {
    fixture.close();
    fixture =
        new ControlFixture(
            "native",
            settings ->
                settings.withSandboxes(settings.sandboxes().with(draft -> draft.openFiles = 256)));
    Sandbox sandbox = sandbox();
    Context first = create(sandbox, Map.of(), null);
    awaitZygote(sandbox, null);
    Context second = create(sandbox, Map.of(), null);

    assertThat(first.start()).isEqualTo(Context.Start.COLD);
    assertThat(second.start()).isEqualTo(Context.Start.ZYGOTE);
    for (Context context : List.of(first, second)) {
      assertThat(run(sandbox, context, "import resource; resource.getrlimit(7)[1]"))
          .isEqualTo("256");
    }
    if (fixture.control().images().get("host").languages().contains(Language.NODE)) {
      CodeResult node =
          contexts().execute(ALICE, sandbox.id(), ExecuteCode.of(Language.NODE, "1 + 1"));
      assertThat(node.error()).isNull();
    }
  }

  @Test
  void isolatedSandboxGetsNoFork() throws InterruptedException {
    awaitZygote(sandbox(), null);
    Sandbox isolated =
        fixture.control().sandboxes().create(ALICE, CreateSandbox.defaults().withIsolated(true));

    assertThat(isolated.isolated()).isTrue();
    assertThat(create(isolated, Map.of(), null).start()).isEqualTo(Context.Start.COLD);
    assertThat(create(sandbox(), Map.of(), null).start())
        .as("positive control")
        .isEqualTo(Context.Start.ZYGOTE);
  }

  @Test
  void preloadIsThereBeforeTheFirstCell() throws InterruptedException {
    Sandbox sandbox = sandbox();
    awaitZygote(sandbox, Preload.DATA);
    Context data = create(sandbox, Map.of(), Preload.DATA);

    assertThat(data.preload()).isEqualTo(Preload.DATA);
    assertThat(run(sandbox, data, "import sys; 'pandas' in sys.modules")).isEqualTo("True");
    assertThat(run(sandbox, create(sandbox, Map.of(), null), "import sys; 'pandas' in sys.modules"))
        .isEqualTo("False");
  }

  @Test
  void forkedInterpreterOutlivesTheServerAndIsReplacedWhenItEnds() throws InterruptedException {
    Sandbox sandbox = sandbox();
    awaitZygote(sandbox, null);
    Context context = create(sandbox, Map.of(), null);
    run(sandbox, context, "x = 41");

    Contexts contexts = fixture.restart().contexts();

    assertThat(run(sandbox, context, "x + 1")).isEqualTo("42");
    assertThat(contexts.get(ALICE, sandbox.id(), context.id()).start())
        .isEqualTo(Context.Start.ZYGOTE);
    CodeResult dead =
        contexts.execute(
            ALICE,
            sandbox.id(),
            new ExecuteCode("import os; os._exit(3)", null, context.id(), null));
    assertThat(dead.state()).isEqualTo(CodeResult.State.LOST);
    assertThat(run(sandbox, context, "1 + 1")).isEqualTo("2");
  }

  private Sandbox sandbox() {
    return fixture.control().sandboxes().create(ALICE, CreateSandbox.defaults());
  }

  private Contexts contexts() {
    return fixture.control().contexts();
  }

  private Context create(
      Sandbox sandbox, Map<String, String> environment, @Nullable Preload preload)
      throws InterruptedException {
    return contexts()
        .create(
            ALICE,
            sandbox.id(),
            new CreateContext(Language.PYTHON, null, environment, preload, List.of()));
  }

  /** The first uses find none ready, and set one going. */
  private void awaitZygote(Sandbox sandbox, @Nullable Preload preload) {
    eventually(
        () -> {
          try {
            Context context = create(sandbox, Map.of(), preload);
            contexts().delete(ALICE, sandbox.id(), context.id());
            return context.start() == Context.Start.ZYGOTE;
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        });
  }

  private String run(Sandbox sandbox, Context context, String code) throws InterruptedException {
    CodeResult result =
        contexts().execute(ALICE, sandbox.id(), new ExecuteCode(code, null, context.id(), null));
    MimeBundle bundle = result.result();
    return bundle == null
        ? String.valueOf(result.error())
        : bundle.find("text/plain").orElseThrow().text();
  }
}
