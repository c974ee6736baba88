package dev.carrel.cli;

import dev.carrel.sdk.PortLink;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "open",
    description = {
      "Link to what listens on a port of a sandbox, for browsers and other programs.",
      "",
      "Whoever has the link reaches this one port until it expires."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel exec -d ID -- python3 -m http.server 8000",
      "  carrel open ID 8000                   print the link",
      "  carrel open ID 8000 --browser         and show it",
      "  curl $(carrel open ID 8000)data.csv"
    })
final class OpenCommand implements Callable<Integer> {
  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
  private String id = "";

  @Parameters(index = "1", paramLabel = "PORT", description = "Where something listens, or will.")
  private int port;

  @Option(
      names = "--expires",
      paramLabel = "SECONDS",
      defaultValue = "3600",
      description = "How long the link is good (${DEFAULT-VALUE}; at most a week).")
  private long seconds;

  @Option(names = "--browser", description = "Show it in this desktop's browser.")
  private boolean browser;

  OpenCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    Console console = session.console();
    try (Session.Connection server = session.connectToRunning()) {
      PortLink link = server.carrel().sandboxes().get(id).link(port, Duration.ofSeconds(seconds));
      if (common.json()) {
        console.json(link);
      } else {
        console.line(link.url());
      }
      if (browser) {
        show(link.url());
      }
    }
    return 0;
  }

  private static void show(String url) {
    String opener = System.getProperty("os.name", "").startsWith("Mac") ? "open" : "xdg-open";
    try {
      new ProcessBuilder(List.of(opener, url))
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .redirectError(ProcessBuilder.Redirect.DISCARD)
          .start();
    } catch (IOException e) {
      throw new CommandFailure(
          "there is no browser to show it in: " + opener + " is not installed");
    }
  }
}
