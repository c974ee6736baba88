package dev.carrel.cli;

import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "serve",
    description = {
      "Start the server and stay until Ctrl-C. Sandboxes outlive it unless sandbox.on-shutdown is"
          + " stop; the next start finds them.",
      "",
      "Settings come from carrel.properties (/etc/carrel for root, ~/.config/carrel otherwise),"
          + " then from variables such as CARREL_SERVER_PORT, then from --set."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel serve",
      "  carrel serve --port 9000 --set exec.default-timeout=30s",
      "  CARREL_SANDBOX_MEMORY_MB=256 carrel serve"
    })
final class ServeCommand implements Callable<Integer> {
  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Option(
      names = "--host",
      paramLabel = "ADDRESS",
      description =
          "Address to listen on (default: 127.0.0.1). Another than loopback needs"
              + " server.tls-certificate and server.tls-key, or server.allow-plaintext=true.")
  private @Nullable String address;

  @Option(
      names = {"-p", "--port"},
      paramLabel = "PORT",
      description = "Port to listen on (default: 8080; 0: any free one).")
  private @Nullable Integer port;

  @Option(
      names = "--data",
      paramLabel = "DIR",
      description = "Where everything is kept (default: /var/lib/carrel or ~/.local/share/carrel).")
  private @Nullable String data;

  @Option(names = "--config", paramLabel = "FILE", description = "A settings file.")
  private @Nullable String file;

  @Option(names = "--set", paramLabel = "KEY=VALUE", description = "Any setting; may be repeated.")
  private List<String> settings = new ArrayList<>();

  @Option(names = "--settings", description = "List every setting as it is in force, and leave.")
  private boolean list;

  ServeCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws InterruptedException {
    if (list) {
      show(session.host().settings(options()));
      return 0;
    }
    var told = new CountDownLatch(1);
    // A second Ctrl-C does not wait for a clean end.
    Runnable stop =
        () -> {
          if (told.getCount() == 0) {
            Runtime.getRuntime().halt(Cli.INTERRUPTED);
          }
          told.countDown();
        };
    try (Signals.Handling _ = Signals.handle("INT", stop);
        Signals.Handling _ = Signals.handle("TERM", stop)) {
      serve(told);
    }
    return 0;
  }

  // As a settings file has them, so that it can be the beginning of one.
  private void show(List<Host.Setting> all) {
    Console console = session.console();
    if (common.json()) {
      console.json(Map.of("settings", all.stream().map(ServeCommand::json).toList()));
      return;
    }
    for (Host.Setting one : all) {
      one.origin()
          .ifPresent(
              origin -> console.line("# set in %s; default: %s".formatted(origin, one.usual())));
      console.line(one.key() + "=" + one.value());
    }
  }

  private static Map<String, String> json(Host.Setting setting) {
    var told = new LinkedHashMap<String, String>();
    told.put("key", setting.key());
    told.put("value", setting.value());
    told.put("default", setting.usual());
    setting.origin().ifPresent(origin -> told.put("set_in", origin));
    return told;
  }

  private void serve(CountDownLatch told) throws InterruptedException {
    String end;
    try (ServedServer server = session.host().serve(options())) {
      try {
        announce(server);
      } catch (Console.OutputLost nobodyReads) {
        // Whoever wants to know where it is finds that in its folder.
        session.console().note("serving; standard output could not be written");
      }
      told.await();
      session.console().note("stopping …");
      end = end(server.sandboxes(), server.keepsSandboxes());
    }
    session.console().note(end);
  }

  private static String end(long sandboxes, boolean kept) {
    if (sandboxes == 0) {
      return "stopped";
    }
    boolean one = sandboxes == 1;
    String what = sandboxes + (one ? " sandbox" : " sandboxes");
    String them = one ? "it" : "them";
    return kept
        ? "stopped; %s %s on, the next start finds %s".formatted(what, one ? "goes" : "go", them)
        : "stopped, and %s with it; after the next start 'carrel sandbox start' starts %s again"
            .formatted(what, them);
  }

  private Host.ServeOptions options() {
    var all = new ArrayList<>(settings);
    if (address != null) {
      all.add("server.host=" + address);
    }
    if (port != null) {
      all.add("server.port=" + port);
    }
    if (data != null) {
      all.add("storage.data-directory=" + data);
    }
    return new Host.ServeOptions(Optional.ofNullable(file), all, session.terminal().isTerminal(2));
  }

  private void announce(ServedServer server) {
    Console console = session.console();
    String address = server.endpoint().address().toString();
    if (common.json()) {
      var told = new LinkedHashMap<String, String>();
      told.put("address", address);
      server.grpc().ifPresent(grpc -> told.put("grpc", grpc.toString()));
      told.put("token_file", server.tokenFile().toString());
      told.put("log_file", server.logFile().toString());
      console.jsonLine(told);
      return;
    }
    console.line(
        console.styled(Console.Style.STRONG, "Carrel " + session.host().version())
            + " listens on "
            + console.styled(Console.Style.STRONG, address));
    var table = new ArrayList<List<String>>();
    table.add(List.of("  engine", engine(console, server)));
    server.grpc().ifPresent(grpc -> table.add(List.of("  gRPC", grpc.getAuthority())));
    table.add(List.of("  token", server.tokenFile().toString()));
    table.add(List.of("  log", server.logFile().toString()));
    table.add(List.of("  docs", address + "/docs"));
    console.table(List.of(), table);
    tryIt(console, server);
    String end =
        server.keepsSandboxes()
            ? "Ctrl-C stops the server; sandboxes go on."
            : "Ctrl-C stops the server and its sandboxes.";
    console.line(console.styled(Console.Style.FAINT, end));
  }

  private static void tryIt(Console console, ServedServer server) {
    URI address = server.endpoint().address();
    boolean secure = "https".equals(address.getScheme());
    // A certificate is for a name, which the address that is listened on seldom is.
    String at = secure ? "https://NAME:" + address.getPort() : address.toString();
    console.line(secure ? "Try it, with the NAME of its certificate:" : "Try it:");
    console.line(
        (secure ? "  CARREL_URL=%s CARREL_TOKEN=$(cat %s)".formatted(at, server.tokenFile()) : " ")
            + " carrel run -c 'print(6*7)'");
    console.line(
        "  curl -H \"Authorization: Bearer $(cat %s)\" -X POST %s/api/v1/sandboxes"
            .formatted(server.tokenFile(), at));
  }

  private static String engine(Console console, ServedServer server) {
    return server
        .engine()
        .map(
            engine ->
                console.styled(
                    engine.isolation().equals("none") ? Console.Style.BAD : Console.Style.GOOD,
                    engine.name() + ", isolation: " + engine.isolation()))
        .orElse(console.styled(Console.Style.BAD, "none can be used; see carrel doctor"));
  }
}
