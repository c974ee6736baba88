package dev.carrel.cli;

import dev.carrel.sdk.SecretInfo;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code carrel vault …}: one class for each verb. */
@Command(
    name = "vault",
    description = "Keep secrets that commands and code use by name.",
    synopsisSubcommandLabel = "COMMAND",
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel vault add API_KEY                           its value is asked for",
      "  carrel vault list",
      "  carrel exec --secret API_KEY ID -- ./deploy",
      "  carrel vault rotate API_KEY"
    })
final class VaultCommand extends CommandGroup {

  @Command(
      name = "add",
      description = "Keep a secret; its value is asked for, or read from standard input.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  carrel vault add API_KEY",
        "  pass show api | carrel vault add API_KEY",
        "  carrel exec --secret API_KEY ID -- ./deploy",
        "  carrel vault add API_KEY --host api.example.com  processes get a placeholder"
      })
  static final class Add implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();
    @Mixin private Space space = new Space();
    @Mixin private Value value = new Value();

    @ArgGroup(multiplicity = "0..1")
    private Kind kind = new Kind();

    /** What it is for, if not for the environment of processes. */
    private static final class Kind {
      @Option(
          names = "--canary",
          description = "Nobody needs it: a sandbox that lets it out is frozen, and you are told.")
      private boolean canary;

      @Option(
          names = "--host",
          paramLabel = "HOST",
          description =
              "Only for this host (*.example.com and example.com:8443, too; repeatable): processes"
                  + " get a placeholder, their https requests to it the value.")
      private List<String> hosts = List.of();
    }

    Add(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() throws IOException {
      String name = value.name();
      String text = value.read(session);
      try (Session.Connection server = session.connect()) {
        var vault = server.carrel().secrets();
        SecretInfo made;
        if (kind.canary) {
          made = vault.addCanary(space.name(), name, text);
        } else if (kind.hosts.isEmpty()) {
          made = vault.add(space.name(), name, text);
        } else {
          made = vault.addBrokered(space.name(), name, text, kind.hosts);
        }
        show(session.console(), common, made);
      }
      return 0;
    }
  }

  @Command(
      name = "rotate",
      description = "Give a secret another value; what runs keeps the one it has.")
  static final class Rotate implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();
    @Mixin private Space space = new Space();
    @Mixin private Value value = new Value();

    Rotate(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() throws IOException {
      String name = value.name();
      String text = value.read(session);
      try (Session.Connection server = session.connect()) {
        show(session.console(), common, server.carrel().secrets().rotate(space.name(), name, text));
      }
      return 0;
    }
  }

  @Command(name = "list", aliases = "ls", description = "List secrets by name; never their values.")
  static final class ListAll implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();
    @Mixin private Space space = new Space();

    ListAll(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        List<SecretInfo> found = server.carrel().secrets().list(space.name());
        if (common.json()) {
          console.json(Map.of("secrets", found));
        } else if (found.isEmpty()) {
          console.note("no secrets; keep one with: carrel vault add NAME");
        } else {
          var rows = new ArrayList<List<String>>();
          for (SecretInfo info : found) {
            rows.add(
                List.of(
                    info.name(),
                    info.source(),
                    info.version() == 0 ? "" : Long.toString(info.version()),
                    kind(info),
                    info.updatedAt() == null ? "" : Wording.time(info.updatedAt())));
          }
          console.table(List.of("NAME", "SOURCE", "VERSION", "KIND", "SINCE"), rows);
        }
      }
      return 0;
    }
  }

  @Command(name = "delete", aliases = "rm", description = "Forget secrets.")
  static final class Delete implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();
    @Mixin private Space space = new Space();

    @Parameters(arity = "1..*", paramLabel = "NAME", description = "The secrets.")
    private List<String> names = List.of();

    Delete(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect()) {
        return new Deletion(session.console())
            .each(names, name -> server.carrel().secrets().delete(space.name(), name))
            .told(common.json());
      }
    }
  }

  private static String kind(SecretInfo info) {
    if (info.canary()) {
      return "canary";
    }
    return info.hosts().isEmpty() ? "" : "only for " + String.join(", ", info.hosts());
  }

  private static void show(Console console, CommonOptions common, SecretInfo made) {
    if (common.json()) {
      console.json(made);
    } else {
      console.line(made.name() + "  version " + made.version());
    }
  }

  /** Which namespace. */
  static final class Space {
    @Option(names = "--namespace", paramLabel = "NAME", description = "Default: default.")
    private String namespace = "default";

    String name() {
      return namespace;
    }
  }

  /** A secret's name, and where its value comes from. */
  static final class Value {
    @Parameters(index = "0", paramLabel = "NAME", description = "The variable to give it in.")
    private String name = "";

    @Parameters(
        index = "1",
        arity = "0..1",
        paramLabel = "VALUE",
        description = "Better left out: others on this machine can see a command's arguments.")
    private @Nullable String given;

    String name() {
      return name;
    }

    String read(Session session) throws IOException {
      if (given != null) {
        session
            .console()
            .note(
                "a value on the command line is seen by others and kept in the shell's history;"
                    + " pipe it in instead");
        return given;
      }
      if (!session.terminal().isTerminal(0)) {
        String text = new String(session.in().readAllBytes(), StandardCharsets.UTF_8);
        return text.endsWith("\n") ? text.substring(0, text.length() - 1) : text;
      }
      return session.terminal().readHidden(session.console().err(), "value of " + name + ": ");
    }
  }
}
