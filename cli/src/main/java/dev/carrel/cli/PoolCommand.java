package dev.carrel.cli;

import dev.carrel.sdk.PoolInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(
    name = "pool",
    description = "Show the sandboxes that wait, started already, for their owner.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel serve --set pool.sizes=host=4-16 --set pool.languages=host=python",
      "  carrel pool"
    })
final class PoolCommand implements Callable<Integer> {
  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  PoolCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    Console console = session.console();
    try (Session.Connection server = session.connect()) {
      List<PoolInfo> pools = server.carrel().pools();
      if (common.json()) {
        console.json(pools);
      } else if (pools.isEmpty()) {
        console.note("no pools; see carrel pool --help for how to have one");
      } else {
        show(console, pools);
      }
    }
    return 0;
  }

  private static void show(Console console, List<PoolInfo> pools) {
    var rows = new ArrayList<List<String>>();
    for (PoolInfo pool : pools) {
      long claims = pool.hits() + pool.misses();
      rows.add(
          List.of(
              pool.imageName(),
              pool.provider(),
              pool.idleCount() + " of " + pool.target(),
              pool.warmPoolMin() + "-" + pool.warmPoolMax(),
              String.join(" ", pool.languages()),
              Long.toString(pool.hits()),
              Long.toString(pool.misses()),
              claims == 0 ? "" : 100 * pool.hits() / claims + " %"));
    }
    console.table(
        List.of("IMAGE", "ENGINE", "WAITING", "SIZE", "LANGUAGES", "HITS", "MISSES", "HIT RATE"),
        rows);
  }
}
