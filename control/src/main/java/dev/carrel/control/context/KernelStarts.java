package dev.carrel.control.context;

import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.guest.ExecRequest;
import dev.carrel.guest.ExecSession;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.KernelFork;
import dev.carrel.spi.Language;
import dev.carrel.spi.Preload;
import dev.carrel.spi.SandboxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts interpreters: as a fork of a warm one where the engine has one ready, otherwise as a
 * command of the sandbox's guest. A fork that does not come up costs time but never the context.
 */
final class KernelStarts {
  private static final Logger LOG = LoggerFactory.getLogger(KernelStarts.class);
  private static final String KERNELS = "/opt/carrel/kernels";
  private static final Duration FORK_PATIENCE = Duration.ofSeconds(5);

  private final ContextSettings settings;
  private final Path libDirectory;
  private final Telemetry telemetry;

  KernelStarts(ContextSettings settings, Path libDirectory, Telemetry telemetry) {
    this.settings = settings;
    this.libDirectory = libDirectory;
    this.telemetry = telemetry;
  }

  /**
   * Returns when it serves requests.
   *
   * @param preload null: the server's usual one
   * @param environment the whole of it
   * @param first what it is to run first, when that is known
   */
  Kernel start(
      RunningSandbox sandbox,
      Language language,
      @Nullable Preload preload,
      @Nullable String cwd,
      Map<String, String> environment,
      @Nullable First first)
      throws InterruptedException {
    long begin = System.nanoTime();
    String folder =
        sandbox.sharesHostFiles()
            ? libDirectory.resolve("kernels").toAbsolutePath().toString()
            : KERNELS;
    KernelCommand command = KernelCommand.of(language, folder);
    if (language == Language.PYTHON && forkable(environment)) {
      var wanted =
          new KernelFork(
              ExecId.random(),
              language,
              preload == null ? settings.preload() : preload,
              cwd,
              environment);
      Kernel forked = fork(sandbox, wanted, command, first);
      if (forked != null) {
        telemetry.time("kernels_forked", Duration.ofNanos(System.nanoTime() - begin));
        return forked;
      }
    }
    var exec = ExecId.random();
    var program = new Command(command.arguments(), Map.of(), cwd, null, null, false);
    ExecSession session =
        sandbox.exec(exec, ExecRequest.of(program, environment).withKeep(true).withControl(true));
    var kernel = new Kernel(sandbox, exec, session, Context.Start.COLD);
    begin(kernel, first);
    try {
      kernel.awaitReady(settings.startTimeout(), command);
    } catch (SandboxException e) {
      throw explained(sandbox, folder, e);
    }
    telemetry.time("kernels_started", Duration.ofNanos(System.nanoTime() - begin));
    return kernel;
  }

  /**
   * Whether an interpreter that was started without knowing these can still take them. Warm ones
   * were started with what every sandbox has; and another PATH may lead to another interpreter.
   */
  static boolean forkable(Map<String, String> environment) {
    var own = new HashMap<>(environment);
    own.entrySet().removeAll(RunningSandbox.usualEnvironment().entrySet());
    return !own.containsKey("PATH") && LateBinding.suits(Language.PYTHON, own.keySet());
  }

  private @Nullable Kernel fork(
      RunningSandbox sandbox, KernelFork wanted, KernelCommand command, @Nullable First first)
      throws InterruptedException {
    Kernel kernel = null;
    try {
      if (!sandbox.fork(wanted)) {
        return null;
      }
      ExecSession session = sandbox.guest().attachAtEnd(wanted.exec());
      kernel = new Kernel(sandbox, wanted.exec(), session, Context.Start.ZYGOTE);
      begin(kernel, first);
      kernel.awaitReady(FORK_PATIENCE, command);
      return kernel;
    } catch (SandboxException e) {
      if (kernel == null) {
        // It may be on its way all the same, and nobody would ever hear of it.
        sandbox.endUnheard(wanted.exec());
      }
      // One that has greeted too late may have run what it was sent: another must not run it too.
      boolean late = first != null && kernel != null && kernel.greeting() != null;
      if (e.code() == ErrorCode.GUEST_LOST || late) {
        throw e;
      }
      LOG.info("a fork into {} did not come up: {}", sandbox.id(), e.message());
      telemetry.count("kernel_forks_failed");
      return null;
    }
  }

  /** A sandbox sees the folder of the version that started it, which it may have outlived. */
  private static SandboxException explained(
      RunningSandbox sandbox, String kernels, SandboxException failure) {
    if (failure.code() != ErrorCode.LANGUAGE_NOT_AVAILABLE || exists(sandbox, kernels)) {
      return failure;
    }
    return new SandboxException(
            ErrorCode.LANGUAGE_NOT_AVAILABLE,
            "what starts interpreters is gone from the sandbox: the folder of the version of Carrel that started it was removed",
            failure)
        .withHint(
            "stop the sandbox and start it again, with its files; where those are in memory, make another one");
  }

  private static boolean exists(RunningSandbox sandbox, String path) {
    try {
      sandbox.guest().files().stat(path);
      return true;
    } catch (SandboxException e) {
      return e.code() != ErrorCode.FILE_NOT_FOUND;
    }
  }

  private static void begin(Kernel kernel, @Nullable First first) {
    if (first != null) {
      kernel.sendAhead(first.id(), first.code());
    }
    kernel.begin();
  }

  /** The code of a cell, and its id. */
  record First(int id, String code) {}
}
