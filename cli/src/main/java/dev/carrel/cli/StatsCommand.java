package dev.carrel.cli;

import dev.carrel.sdk.Carrel;
import dev.carrel.sdk.QueueStatus;
import dev.carrel.sdk.SandboxUsage;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(
    name = "stats",
    description = "Show in one look what the server does, and what your sandboxes use together.",
    footerHeading = "%nExamples:%n",
    footer = {"  carrel stats", "  carrel stats --json"})
final class StatsCommand implements Callable<Integer> {
  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  StatsCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    Map<String, Object> stats;
    try (Session.Connection server = session.connect()) {
      stats = look(server.carrel());
    }
    Console console = session.console();
    if (common.json()) {
      console.json(stats);
      return 0;
    }
    var rows = new ArrayList<List<String>>();
    stats.forEach((name, value) -> rows.add(List.of(name, value.toString())));
    console.table(List.of(), rows);
    return 0;
  }

  private static Map<String, Object> look(Carrel carrel) {
    List<SandboxUsage> running = carrel.usage();
    var stats = new LinkedHashMap<String, Object>();
    stats.put("version", carrel.health().version());
    stats.put("sandboxes", carrel.sandboxes().list(1, 1).total());
    stats.put("running", running.size());
    stats.put("cpu_seconds", running.stream().mapToDouble(SandboxUsage::cpuSeconds).sum());
    stats.put("memory_bytes", running.stream().mapToLong(SandboxUsage::memoryBytes).sum());
    stats.put("processes", running.stream().mapToLong(SandboxUsage::processes).sum());
    for (QueueStatus.Line line : carrel.queue().lines()) {
      stats.put(line.kind() + "_running", line.running());
      stats.put(line.kind() + "_waiting", line.waiting());
    }
    return stats;
  }
}
