package dev.carrel.cli;

import dev.carrel.sdk.WebPage;
import dev.carrel.sdk.WebResults;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code carrel web …}: pages and searches, as agents get them. */
@Command(
    name = "web",
    description = {
      "Read pages of the web, and search it.",
      "",
      "There is no browser: a page is read as it comes, without running its scripts."
    },
    synopsisSubcommandLabel = "COMMAND",
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel web fetch https://example.com/",
      "  carrel web search --num 3 how to fold a paper crane"
    })
final class WebCommand extends CommandGroup {

  @Command(name = "fetch", description = "Print a page as Markdown.")
  static final class Fetch implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "URL", description = "The page.")
    private String url = "";

    @Option(
        names = "--sandbox",
        paramLabel = "ID",
        description = "Under the policy of this sandbox.")
    private @Nullable String sandbox;

    @Option(names = "--fresh", description = "Not what was read a while ago.")
    private boolean fresh;

    Fetch(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        WebPage page = server.carrel().fetchPage(url, sandbox, fresh);
        if (common.json()) {
          console.json(page);
          return 0;
        }
        if (page.redirectUrl() != null) {
          console.note("it has moved to " + console.safe(page.redirectUrl()));
          return 1;
        }
        console.line(console.safe(page.content()));
        if (page.truncated()) {
          console.note("there is more than is shown");
        }
        return page.status() < 400 ? 0 : 1;
      }
    }
  }

  @Command(name = "search", description = "Search the web.")
  static final class Search implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "WORD", arity = "1..*", description = "What to look for.")
    private List<String> words = new ArrayList<>();

    @Option(
        names = "--num",
        paramLabel = "N",
        defaultValue = "5",
        description = "How many results (default: ${DEFAULT-VALUE}, at most 20).")
    private int count;

    @Option(
        names = "--sandbox",
        paramLabel = "ID",
        description = "Under the policy of this sandbox.")
    private @Nullable String sandbox;

    Search(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        WebResults found = server.carrel().searchWeb(String.join(" ", words), count, sandbox);
        if (common.json()) {
          console.json(found);
          return 0;
        }
        for (WebResults.Hit hit : found.results()) {
          console.line(console.safe(hit.title()));
          console.line("  " + console.safe(hit.url()));
          console.line("  " + console.safe(hit.snippet()));
        }
        console.note(
            (found.results().isEmpty() ? "nothing was found by " : "found by ") + found.provider());
      }
      return 0;
    }
  }
}
