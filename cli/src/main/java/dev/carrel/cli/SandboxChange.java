package dev.carrel.cli;

import dev.carrel.sdk.CarrelException;
import dev.carrel.sdk.Sandbox;
import dev.carrel.sdk.SandboxInfo;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** The verbs of {@code carrel sandbox} that lead from one status to another. */
abstract class SandboxChange implements Callable<Integer> {
  private final Session session;
  private final String progress;
  private final UnaryOperator<Sandbox> change;
  @Mixin private CommonOptions common = new CommonOptions();

  @Parameters(arity = "1..*", paramLabel = "ID", description = "The sandboxes.")
  private List<String> ids = List.of();

  private SandboxChange(Session session, String progress, UnaryOperator<Sandbox> change) {
    this.session = session;
    this.progress = progress;
    this.change = change;
  }

  @Override
  public Integer call() {
    var changed = new ArrayList<SandboxInfo>();
    var failed = new LinkedHashMap<String, CarrelException>();
    Console console = session.console();
    try (Session.Connection server = session.connect()) {
      for (String id : ids) {
        try (Progress _ = console.progress(progress + " " + console.safe(id))) {
          changed.add(change.apply(server.carrel().sandboxes().get(id)).info());
        } catch (CarrelException e) {
          failed.put(id, e);
        }
      }
    }
    if (common.json()) {
      var reasons = new LinkedHashMap<String, String>();
      failed.forEach((id, why) -> reasons.put(id, why.message()));
      console.json(Map.of("sandboxes", changed, "failed", reasons));
    } else {
      changed.forEach(info -> console.line(info.id() + "  " + info.status()));
      failed.forEach(
          (id, why) -> {
            console.error(Wording.about(console.safe(id), why.message()));
            why.hint().ifPresent(console::hint);
          });
    }
    return failed.isEmpty() ? 0 : Cli.FAILED;
  }

  @Command(
      name = "start",
      description = "Start stopped or failed sandboxes again, with their files.")
  static final class Start extends SandboxChange {
    Start(Session session) {
      super(session, "starting", Sandbox::start);
    }
  }

  @Command(name = "stop", description = "End the machines of sandboxes and keep their files.")
  static final class Stop extends SandboxChange {
    Stop(Session session) {
      super(session, "stopping", Sandbox::stop);
    }
  }

  @Command(
      name = "pause",
      description = "Hold every process where it is; the next call lets them go on.")
  static final class Pause extends SandboxChange {
    Pause(Session session) {
      super(session, "pausing", Sandbox::pause);
    }
  }

  @Command(name = "resume", description = "Let paused sandboxes go on.")
  static final class Resume extends SandboxChange {
    Resume(Session session) {
      super(session, "resuming", Sandbox::resume);
    }
  }

  @Command(
      name = "fork",
      description = "Start a new sandbox like each of these, with the files of this moment.")
  static final class Fork extends SandboxChange {
    Fork(Session session) {
      super(session, "forking", Sandbox::fork);
    }
  }
}
