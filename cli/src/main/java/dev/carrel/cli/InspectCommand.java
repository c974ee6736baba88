package dev.carrel.cli;

import dev.carrel.sdk.BudgetInfo;
import dev.carrel.sdk.Carrel;
import dev.carrel.sdk.Contexts;
import dev.carrel.sdk.ExecInfo;
import dev.carrel.sdk.Sandbox;
import dev.carrel.sdk.SandboxInfo;
import dev.carrel.sdk.SecretInfo;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(
    name = "inspect",
    description = {
      "Show how a sandbox or a namespace stands.",
      "",
      "Of a sandbox: its interpreters, its last commands, its limits and what it uses. Of a"
          + " namespace: its sandboxes, the names of its secrets and its budget."
    },
    footerHeading = "%nExamples:%n",
    footer = {"  carrel inspect ID", "  carrel inspect default"})
final class InspectCommand implements Callable<Integer> {
  private static final Pattern SANDBOX = Pattern.compile("sb[a-z2-7]{14}");
  private static final int MAX_SANDBOXES = 200;
  private static final int MAX_COMMANDS = 20;

  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Parameters(paramLabel = "ID|NAMESPACE", description = "The sandbox, or the namespace.")
  private String target = "";

  InspectCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    try (Session.Connection server = session.connect()) {
      if (SANDBOX.matcher(target).matches()) {
        sandbox(server.carrel().sandboxes().get(target));
      } else {
        namespace(server.carrel());
      }
    }
    return 0;
  }

  private void sandbox(Sandbox sandbox) {
    Console console = session.console();
    SandboxInfo info = sandbox.info();
    List<Contexts.Context> contexts = sandbox.contexts().list();
    List<ExecInfo> execs = sandbox.execs().stream().limit(MAX_COMMANDS).toList();
    if (common.json()) {
      var json = new LinkedHashMap<String, Object>();
      json.put("sandbox", info);
      json.put("contexts", contexts);
      json.put("execs", execs);
      json.put("budget", sandbox.budget());
      if (info.status().equals("running")) {
        json.put("usage", sandbox.usage());
      }
      console.json(json);
      return;
    }
    console.line(
        "%s  %s on %s, isolation: %s, namespace %s"
            .formatted(
                info.id(), info.status(), info.engine(), info.isolation(), info.namespace()));
    console.line(
        "limits: %d MB memory, %s CPU, %d MB disk, %d processes"
            .formatted(info.memoryMb(), info.cpuCores(), info.diskMb(), info.pids()));
    if (info.status().equals("running")) {
      var usage = sandbox.usage();
      console.line(
          "uses: %d MB memory, %.1f CPU seconds, %d processes"
              .formatted(usage.memoryBytes() >> 20, usage.cpuSeconds(), usage.processes()));
    }
    console.line(text(sandbox.budget()));
    table(
        List.of("INTERPRETER", "LANGUAGE", "STATUS"),
        contexts.stream().map(one -> List.of(one.id(), one.language(), one.status())).toList());
    table(
        List.of("EXEC", "STATUS", "EXIT", "COMMAND"),
        execs.stream()
            .map(
                one ->
                    List.of(
                        one.id(),
                        one.status(),
                        one.exitCode() == null ? "" : one.exitCode().toString(),
                        console.safe(String.join(" ", one.command()))))
            .toList());
  }

  private void namespace(Carrel carrel) {
    Console console = session.console();
    List<SandboxInfo> sandboxes =
        carrel
            .sandboxes()
            .list(Map.of("namespace", target, "page_size", Integer.toString(MAX_SANDBOXES)))
            .items();
    List<String> secrets =
        carrel.secrets().list(target).stream().map(SecretInfo::name).sorted().toList();
    BudgetInfo budget = carrel.budget(target);
    boolean nothing = sandboxes.isEmpty() && secrets.isEmpty() && !isLimited(budget);
    if (nothing && target.startsWith("sb")) {
      throw new CommandFailure(
          "there is no sandbox " + target + ", and nothing in a namespace of that name",
          "'carrel sandbox list' shows what there is");
    }
    if (common.json()) {
      console.json(
          Map.of(
              "namespace", target, "sandboxes", sandboxes, "secrets", secrets, "budget", budget));
      return;
    }
    if (nothing) {
      console.note("nothing is in namespace " + target);
    }
    console.line(text(budget));
    console.line("secrets: " + (secrets.isEmpty() ? "none" : String.join(", ", secrets)));
    table(
        List.of("SANDBOX", "STATUS", "IMAGE", "EXECS"),
        sandboxes.stream()
            .map(
                one -> List.of(one.id(), one.status(), one.image(), Long.toString(one.execCount())))
            .toList());
  }

  private void table(List<String> head, List<List<String>> rows) {
    if (!rows.isEmpty()) {
      session.console().line("");
      session.console().table(head, rows);
    }
  }

  private static boolean isLimited(BudgetInfo budget) {
    return budget.cpuSeconds() != null
        || budget.egressBytes() != null
        || budget.executions() != null;
  }

  private static String text(BudgetInfo budget) {
    var parts = new ArrayList<String>();
    if (budget.cpuSeconds() != null) {
      parts.add("%.1f of %d CPU seconds".formatted(budget.cpuSecondsUsed(), budget.cpuSeconds()));
    }
    if (budget.egressBytes() != null) {
      parts.add("%d of %d bytes out".formatted(budget.egressBytesUsed(), budget.egressBytes()));
    }
    if (budget.executions() != null) {
      parts.add("%d of %d executions".formatted(budget.executionsUsed(), budget.executions()));
    }
    return "budget: " + (parts.isEmpty() ? "none" : String.join(", ", parts));
  }
}
