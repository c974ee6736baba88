package dev.carrel.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "mcp",
    description = {
      "Serve MCP on standard input and output, for an agent's program to start.",
      "",
      "Uses the server that runs, or becomes one that further commands find. Ends with its input."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel mcp install claude             let Claude Code start it",
      "  carrel mcp --tools files              only the tools for files",
    })
final class McpCommand implements Callable<Integer> {
  private final Session session;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  private boolean help;

  @Option(
      names = "--tools",
      paramLabel = "SETS",
      description = "The sets of tools to offer, with commas between them (default: code,files).")
  private @Nullable String tools;

  @Option(
      names = "--session",
      paramLabel = "KEY",
      description = "Key of the sandbox that is used when a call names none.")
  private @Nullable String key;

  McpCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (help) {
      throw new IllegalStateException("picocli shows the help itself");
    }
    Deque<LocalServer> joined = new ArrayDeque<>();
    try (AtExit _ = AtExit.run(() -> joined.forEach(LocalServer::close));
        McpBridge bridge =
            new McpBridge(() -> server(joined), tools, key, session.console().out())) {
      bridge.requireTools();
      bridge.run(session.in());
    }
    return 0;
  }

  private Endpoint server(Deque<LocalServer> joined) {
    Optional<Endpoint> named = session.host().namedServer();
    if (named.isPresent()) {
      return named.get();
    }
    LocalServer server = session.host().shareServer();
    joined.push(server);
    return server.endpoint();
  }

  @Command(
      name = "install",
      description = "Write into the settings of an agent's program how to start this.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  carrel mcp install claude",
        "  carrel mcp install vscode --tools code",
        "  carrel mcp install cursor --file .cursor/mcp.json"
      })
  static final class Install implements Callable<Integer> {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    /** Programs whose settings we know. */
    enum Client {
      CLAUDE(".claude.json", "mcpServers"),
      CURSOR(".cursor/mcp.json", "mcpServers"),
      VSCODE(".config/Code/User/mcp.json", "servers");

      private final String file;
      private final String member;

      Client(String file, String member) {
        this.file = file;
        this.member = member;
      }
    }

    @Parameters(
        paramLabel = "CLIENT",
        completionCandidates = Choices.Clients.class,
        description = "claude, cursor or vscode.")
    private Client client = Client.CLAUDE;

    @Option(
        names = "--file",
        paramLabel = "FILE",
        description = "Its settings file, where it is not in your home directory.")
    private @Nullable Path file;

    @Option(
        names = "--tools",
        paramLabel = "SETS",
        description = "The sets of tools to offer, with commas between them.")
    private @Nullable String tools;

    Install(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() throws IOException {
      Path target = file == null ? session.host().userHome().resolve(client.file) : file;
      ObjectNode settings = read(target);
      JsonNode servers = settings.path(client.member);
      if (!servers.isMissingNode() && !servers.isNull() && !servers.isObject()) {
        throw leftAlone(target);
      }
      ObjectNode entry =
          settings.withObject("/" + client.member).putObject("carrel").put("type", "stdio");
      entry.put("command", session.host().program().toString());
      var arguments = entry.putArray("args").add("mcp");
      if (tools != null) {
        arguments.add("--tools").add(tools);
      }
      write(target, settings);
      if (common.json()) {
        session.console().json(Map.of("file", target.toString(), "entry", entry));
      } else {
        session.console().line("carrel is now in " + target + "; start the program again");
      }
      return 0;
    }

    private static ObjectNode read(Path target) throws IOException {
      if (!Files.exists(target)) {
        return JSON.createObjectNode();
      }
      try {
        JsonNode settings = JSON.readTree(Files.readString(target));
        if (settings instanceof ObjectNode object) {
          return object;
        }
      } catch (JsonProcessingException | CharacterCodingException e) {
        // Told below: what cannot be read is not replaced either.
      }
      throw leftAlone(target);
    }

    private static CommandFailure leftAlone(Path target) {
      return new CommandFailure(
          target + " is not plain JSON of the usual shape, so it was left as it is",
          "add by hand: \"carrel\": {\"command\": \"carrel\", \"args\": [\"mcp\"]}");
    }

    private static void write(Path target, ObjectNode settings) throws IOException {
      // What is kept elsewhere and linked to stays there.
      Path absolute = Files.exists(target) ? target.toRealPath() : target.toAbsolutePath();
      Path folder = absolute.getParent();
      if (folder == null) {
        throw new CommandFailure(target + " is not a file");
      }
      Files.createDirectories(folder);
      // A reader sees the old settings or the new ones.
      Path draft = Files.createTempFile(folder, "carrel", ".json");
      Files.write(draft, List.of(settings.toPrettyString()));
      if (Files.exists(absolute)) {
        Files.setPosixFilePermissions(draft, Files.getPosixFilePermissions(absolute));
      }
      Files.move(draft, absolute, StandardCopyOption.ATOMIC_MOVE);
    }
  }
}
