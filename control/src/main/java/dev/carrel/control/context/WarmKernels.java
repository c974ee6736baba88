package dev.carrel.control.context;

import dev.carrel.control.sandbox.Interpreter;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxId;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Interpreters that were started before their sandbox had an owner; each is used once. */
final class WarmKernels {
  private final Map<SandboxId, Map<Interpreter, Warm>> boxes = new ConcurrentHashMap<>();

  void add(SandboxId box, Interpreter kind, Kernel kernel, Map<String, String> environment) {
    boxes.compute(
        box,
        (_, kernels) -> {
          var all = kernels == null ? new HashMap<Interpreter, Warm>() : new HashMap<>(kernels);
          all.put(kind, new Warm(kernel, Map.copyOf(environment)));
          return all;
        });
  }

  @Nullable Warm take(SandboxId box, Interpreter kind) {
    var taken =
        new Object() {
          @Nullable Warm warm;
        };
    boxes.computeIfPresent(
        box,
        (_, kernels) -> {
          var left = new HashMap<>(kernels);
          taken.warm = left.remove(kind);
          return left.isEmpty() ? null : left;
        });
    return taken.warm;
  }

  /** The box is gone, and they with it. */
  void forget(SandboxId box) {
    boxes.remove(box);
  }

  /**
   * One of them.
   *
   * @param environment what it was started with
   */
  record Warm(Kernel kernel, Map<String, String> environment) {
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
