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
    String java = Runtime.version().toString();
    if (common.json()) {
      session.console().json(Map.of("version", session.host().version(), "java", java));
    } else {
      session.console().line("carrel " + session.host().version() + " (Java " + java + ")");
    }
    return 0;
  }
}
