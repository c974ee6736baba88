package dev.carrel.control.context;

import dev.carrel.spi.Language;
import java.util.List;

/**
 * How each language's kernel is started; the table of {@code kernels/README.md}.
 *
 * @param needs what the image must have
 */
record KernelCommand(List<String> arguments, String needs) {
  KernelCommand {
    arguments = List.copyOf(arguments);
  }

  /**
   * @param kernels the folder of the kernels as the sandbox sees it
   */
  static KernelCommand of(Language language, String kernels) {
    return switch (language) {
      case PYTHON ->
          new KernelCommand(
              List.of("python3", "-S", "-X", "utf8", kernels + "/python/kernel.py"),
              "python3 3.9 or later (Debian and Ubuntu: apt-get install python3)");
      case NODE ->
          new KernelCommand(
              List.of("node", "--no-force-async-hooks-checks", kernels + "/node/kernel.cjs"),
              "node 20 or later (Debian and Ubuntu: apt-get install nodejs)");
      case R ->
          new KernelCommand(
              List.of(
                  "R",
                  "--no-echo",
                  "--no-restore",
                  "--no-save",
                  "--no-init-file",
                  "--file=" + kernels + "/r/kernel.R"),
              "R 4.0 or later (Debian and Ubuntu: apt-get install r-base-core)");
      case BASH ->
          new KernelCommand(
              List.of(kernels + "/bash/kernel"),
              "bash 4.2 or later (Debian and Ubuntu: apt-get install bash)");
    };
  }
}
