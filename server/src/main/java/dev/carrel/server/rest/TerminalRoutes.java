package dev.carrel.server.rest;

import dev.carrel.control.exec.Exec;
import dev.carrel.control.terminal.Attach;
import dev.carrel.control.terminal.Attachment;
import dev.carrel.control.terminal.Mode;
import dev.carrel.control.terminal.TerminalLink;
import dev.carrel.control.terminal.TerminalStart;
import dev.carrel.control.terminal.Terminals;
import dev.carrel.server.auth.Authenticator;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.PublicAddress;
import dev.carrel.server.http.Query;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Terminals: opened, listed, lent out by links, and joined over a WebSocket. */
final class TerminalRoutes {
  private static final String ALL = "/api/v1/sandboxes/{id}/terminals";
  private static final String ONE = ALL + "/{eid}";

  private final Terminals terminals;
  private final TerminalDoor door;
  private final PublicAddress address;

  TerminalRoutes(Terminals terminals, Authenticator authenticator, PublicAddress address) {
    this.terminals = terminals;
    this.door = new TerminalDoor(terminals, authenticator);
    this.address = address;
  }

  void addTo(Router router) {
    router
        .post(ALL, this::open)
        .get(ALL, this::list)
        .delete(ONE, this::end)
        .post(ONE + "/link", this::link)
        .own("GET", ONE + "/socket", this::socket);
  }

  private void open(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    Map<String, String> env = fields.stringMap("env");
    Fields size = fields.object("size");
    var start =
        new TerminalStart(
            command(fields),
            env == null ? Map.of() : env,
            fields.string("cwd"),
            size == null ? TerminalStart.USUAL_SIZE : ExecRequest.size(size),
            fields.words("secrets").orElse(List.of()));
    SandboxId sandbox = Ids.sandbox(exchange);
    Exec opened = terminals.open(exchange.caller(), sandbox, start);
    exchange
        .header(HeaderNames.LOCATION, "/api/v1/sandboxes/" + sandbox + "/terminals/" + opened.id())
        .json(201, ExecViews.ExecInfo.of(opened));
  }

  private static List<String> command(Fields fields) {
    List<String> words = fields.words("command").orElse(List.of());
    return fields.isString("command") ? List.of("/bin/sh", "-c", words.getFirst()) : words;
  }

  private void list(Exchange exchange) {
    exchange.json(
        200,
        new ExecViews.ExecInfoList(
            terminals.list(exchange.caller(), Ids.sandbox(exchange)).stream()
                .map(ExecViews.ExecInfo::of)
                .toList()));
  }

  private void end(Exchange exchange) {
    terminals.end(exchange.caller(), Ids.sandbox(exchange), Ids.exec(exchange));
    exchange.noContent();
  }

  private void link(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    int seconds =
        fields.wholeNumber(
            "expires_in_seconds",
            (int) Terminals.USUAL_LIFE.toSeconds(),
            1,
            (int) Terminals.LONGEST_LIFE.toSeconds());
    boolean writes = fields.bool("write", false);
    SandboxId sandbox = Ids.sandbox(exchange);
    ExecId id = Ids.exec(exchange);
    TerminalLink link =
        terminals.link(exchange.caller(), sandbox, id, writes, Duration.ofSeconds(seconds));
    String path =
        "/api/v1/sandboxes/%s/terminals/%s/socket?link=%s".formatted(sandbox, id, link.token());
    // http becomes ws, and https wss.
    String url = "ws" + address.of(exchange).substring("http".length()) + path;
    exchange.json(201, new LinkView(url, path, link.writes(), link.expiresAt().toString()));
  }

  private void socket(Exchange exchange) throws InterruptedException {
    TerminalDoor.Entry entry = door.admit(exchange);
    SandboxId sandbox = Ids.sandbox(exchange);
    Exec terminal = terminals.get(entry.caller(), sandbox, Ids.exec(exchange));
    if (!exchange.wantsWebSocket()) {
      throw SandboxException.invalid("Upgrade", "must be websocket");
    }
    TerminalProtocol protocol = TerminalProtocol.chosen(exchange);
    boolean screen = exchange.query().flag("screen", true);
    if (!screen && !protocol.control()) {
      throw SandboxException.invalid("screen", "can be left out on a control channel only");
    }
    Attach how = how(exchange.query(), entry.writes(), screen);
    try (Attachment attachment = terminals.attach(entry.caller(), sandbox, terminal.id(), how)) {
      new TerminalViewer(exchange, attachment, protocol, screen, entry.end()).serve();
    }
    throw exchange.hangUp();
  }

  private static Attach how(Query query, boolean mayWrite, boolean screen) {
    Mode mode = mode(query.text("mode").orElse(mayWrite ? "write" : "read"));
    if (mode.writes() && !mayWrite) {
      throw new SandboxException(ErrorCode.FORBIDDEN, "this link is for looking only");
    }
    if (!screen) {
      return new Attach(mode, null, 0);
    }
    int scrollback =
        (int) query.number("scrollback", Attach.USUAL_SCROLLBACK, 0, Attach.MAX_SCROLLBACK);
    return new Attach(mode, from(query), scrollback);
  }

  private static @Nullable Long from(Query query) {
    return query.text("from").isEmpty() ? null : query.number("from", 0, 0, Long.MAX_VALUE);
  }

  private static Mode mode(String word) {
    return switch (word) {
      case "read" -> Mode.READ;
      case "write" -> Mode.WRITE;
      case "sole" -> Mode.SOLE;
      default -> throw SandboxException.invalid("mode", "must be read, write or sole");
    };
  }

  /**
   * A link.
   *
   * @param url of the WebSocket
   * @param path the same on this server, however it is addressed
   */
  record LinkView(String url, String path, boolean write, String expiresAt) {}
}
