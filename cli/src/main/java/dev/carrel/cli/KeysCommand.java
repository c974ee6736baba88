package dev.carrel.cli;

import dev.carrel.sdk.KeyInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code carrel keys …}: one class for each verb. */
@Command(
    name = "keys",
    description = "Make, list and delete keys for clients, those of E2B among them.",
    synopsisSubcommandLabel = "COMMAND",
    footerHeading = "%nExamples:%n",
    footer = {
      "  export CARREL_TOKEN=$(carrel keys create laptop)",
      "  carrel keys list",
      "  carrel keys delete KEY"
    })
final class KeysCommand extends CommandGroup {

  static CommandLine line(Session session) {
    return new CommandLine(new KeysCommand())
        .addSubcommand(new Create(session))
        .addSubcommand(new ListAll(session))
        .addSubcommand(new Delete(session));
  }

  @Command(
      name = "create",
      description = "Make a key and print it: it is told this once.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  export E2B_API_KEY=$(carrel keys create laptop)",
        "  export E2B_API_URL=http://127.0.0.1:8080 E2B_SANDBOX_URL=http://127.0.0.1:8080"
      })
  static final class Create implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "NAME", description = "What to call it.")
    private String name = "";

    @Option(names = "--tenant", paramLabel = "TENANT", description = "Whose it shall be.")
    private @Nullable String tenant;

    @Option(names = "--principal", paramLabel = "NAME", description = "Whom it stands for.")
    private @Nullable String principal;

    @Option(
        names = "--permission",
        paramLabel = "NAME",
        description = "What no role brings with it: host. For administrators.")
    private List<String> permissions = List.of();

    Create(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect()) {
        KeyInfo made = server.carrel().keys().create(name, tenant, principal, permissions);
        if (common.json()) {
          session.console().json(made);
        } else {
          session.console().line(String.valueOf(made.key()));
        }
      }
      return 0;
    }
  }

  @Command(name = "list", aliases = "ls", description = "List keys.")
  static final class ListAll implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    ListAll(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        List<KeyInfo> found = server.carrel().keys().list();
        if (common.json()) {
          console.json(Map.of("keys", found));
        } else if (found.isEmpty()) {
          console.note("no keys; make one with: carrel keys create NAME");
        } else {
          var rows = new ArrayList<List<String>>();
          for (KeyInfo info : found) {
            rows.add(
                List.of(
                    info.id(),
                    info.name(),
                    info.mask() + "…",
                    info.tenant() + "/" + info.principal(),
                    info.createdAt()));
          }
          console.table(List.of("ID", "NAME", "KEY", "STANDS FOR", "CREATED"), rows);
        }
      }
      return 0;
    }
  }

  @Command(name = "delete", aliases = "rm", description = "Let nobody in with these keys.")
  static final class Delete implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(arity = "1..*", paramLabel = "ID", description = "The keys.")
    private List<String> ids = List.of();

    Delete(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect()) {
        return new Deletion(session.console())
            .each(ids, server.carrel().keys()::delete)
            .told(common.json());
      }
    }
  }
}
