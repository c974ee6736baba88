package dev.carrel.cli;

import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(name = "version", description = "Print the version of Carrel and of its Java.")
final class VersionCommand implements Callable<Integer> {
  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  VersionCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    if (common.json()) {
      session
          .console()
          .json(Map.of("version", session.host().version(), "java", Runtime.version().toString()));
    } else {
      session.console().line(line(session.host()));
    }
    return 0;
  }

  static String line(Host host) {
    return "carrel " + host.version() + " (Java " + Runtime.version() + ")";
  }
}
