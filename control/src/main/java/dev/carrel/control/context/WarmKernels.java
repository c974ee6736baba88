package dev.carrel.control.context;

import dev.carrel.control.sandbox.Interpreter;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.WarmUp;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxId;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/** Interpreters that were started before their sandbox had an owner; each is used once. */
final class WarmKernels implements WarmUp {
  private final KernelStarts starts;
  private final ContextSettings settings;
  private final IntSupplier ids;
  private final Telemetry telemetry;
  private final Map<SandboxId, Map<Interpreter, Warm>> boxes = new ConcurrentHashMap<>();

  WarmKernels(KernelStarts starts, ContextSettings settings, IntSupplier ids, Telemetry telemetry) {
    this.starts = starts;
    this.settings = settings;
    this.ids = ids;
    this.telemetry = telemetry;
  }

  @Override
  public void warm(RunningSandbox box, Interpreter kind) throws InterruptedException {
    Map<String, String> environment = box.environment();
    Kernel kernel = starts.start(box, kind.language(), kind.preload(), null, environment, null);
    kernel.rehearse(ids.getAsInt());
    boxes
        .computeIfAbsent(box.id(), _ -> new ConcurrentHashMap<>())
        .put(settings.settle(kind), new Warm(kernel, Map.copyOf(environment)));
  }

  /**
   * The interpreter that has waited for this; null when there is none that can become it.
   *
   * @param environment the whole of it
   */
  @Nullable Kernel take(RunningSandbox sandbox, Interpreter kind, Map<String, String> environment)
      throws InterruptedException {
    Map<Interpreter, Warm> kernels = boxes.get(sandbox.id());
    Warm warm = kernels == null ? null : kernels.remove(kind);
    if (warm == null) {
      return null;
    }
    Map<String, String> missing = warm.missing(environment);
    if (!warm.suits(kind.language(), missing)) {
      warm.kernel().end();
      return null;
    }
    if (!missing.isEmpty()) {
      warm.kernel().bind(ids.getAsInt(), missing);
    }
    telemetry.count("kernels_warm");
    return warm.kernel();
  }

  /** The sandbox's machine is gone, and they with it. */
  void forget(SandboxId sandbox) {
    boxes.remove(sandbox);
  }

  /**
   * One of them.
   *
   * @param environment what it was started with
   */
  private record Warm(Kernel kernel, Map<String, String> environment) {
    /** Whether it can take these and be what one that is started with them would be. */
    boolean suits(Language language, Map<String, String> missing) {
      // Another PATH may lead to another interpreter.
      boolean same = language == Language.BASH || !missing.containsKey("PATH");
      return same && kernel.alive() && LateBinding.suits(language, missing.keySet());
    }

    /** The variables that it still has to be given. */
    Map<String, String> missing(Map<String, String> wanted) {
      var missing = new HashMap<>(wanted);
      missing.entrySet().removeAll(environment.entrySet());
      return missing;
    }
  }
}
