package dev.carrel.server.flat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import dev.carrel.control.Control;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.server.auth.Authenticator;
import dev.carrel.server.auth.Bearer;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Failure;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Router;
import dev.carrel.server.http.SessionKey;
import dev.carrel.server.http.Subprotocols;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The routes of the flat API. They act on the caller's own sandbox, which is made when there is
 * none and is the same for as long as {@code X-Session-ID} is. Without a valid token nothing is
 * answered but that.
 */
public final class FlatApi {
  private final Control control;
  private final Authenticator authenticator;

  public FlatApi(Control control, Authenticator authenticator) {
    this.control = control;
    this.authenticator = authenticator;
  }

  public void addTo(Router router) {
    var shell = new ShellRoutes(control);
    var files = new FileRoutes(control);
    var web = new WebRoutes(control.web());
    router.open("/v1/openapi.json", exchange -> exchange.json(200, Description.JSON));
    route(router, "GET", "/v1/sandbox", at -> Envelope.of(Machine.of()));
    route(router, "POST", "/v1/bash/exec", shell::exec);
    route(router, "POST", "/v1/bash/exec/stream", shell::stream);
    route(router, "GET", "/v1/ws", Heartbeat::talk);
    route(router, "GET", "/v1/terminal/ws", shell::terminal);
    route(router, "POST", "/v1/file/read", files::read);
    route(router, "POST", "/v1/file/write", files::write);
    route(router, "POST", "/v1/file/list", files::list);
    route(router, "POST", "/v1/file/delete", files::delete);
    route(router, "POST", "/v1/file/mkdir", files::mkdir);
    route(router, "POST", "/v1/file/move", files::move);
    route(router, "POST", "/v1/file/copy", files::copy);
    route(router, "GET", "/v1/file/exists", files::exists);
    route(router, "POST", "/v1/grep/search", files::grep);
    route(router, "POST", "/v1/web/fetch", web::fetch);
    route(router, "POST", "/v1/web/search", web::search);
  }

  /** Read when somebody asks for it, not at every start. */
  private static final class Description {
    static final JsonNode JSON = load();

    private static JsonNode load() {
      try (InputStream in = FlatApi.class.getResourceAsStream("/dev/carrel/server/flat.yaml")) {
        return new YAMLMapper().readTree(in);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** What a route does; null: it has answered by itself. */
  interface Work {
    @Nullable Envelope on(Desk at) throws IOException, InterruptedException;
  }

  private void route(Router router, String method, String path, Work work) {
    router.open(method, path, exchange -> serve(exchange, work));
  }

  private void serve(Exchange exchange, Work work) throws InterruptedException {
    @Nullable Envelope answer;
    try {
      answer = work.on(new Desk(exchange, authenticate(exchange)));
    } catch (Refused e) {
      exchange.header(HeaderNames.WWW_AUTHENTICATE, "Bearer realm=\"carrel\"");
      answer = Envelope.unauthenticated(String.valueOf(e.getMessage()));
    } catch (HttpProblem e) {
      Failure.note(exchange, e);
      answer = Envelope.of(e);
    } catch (SandboxException e) {
      Failure.note(exchange, e);
      answer = Envelope.of(e);
    } catch (IOException e) {
      Failure.note(exchange, e);
      answer = new Envelope(500, "internal error", null);
    }
    if (answer == null) {
      return;
    }
    int status = answer.code() == 0 || answer.code() == 302 ? 200 : answer.code();
    exchange.json(status, answer);
  }

  /** Nobody we know. */
  private static final class Refused extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Refused(String message) {
      super(message, null, false, false);
    }
  }

  private Caller authenticate(Exchange exchange) {
    String token = token(exchange);
    Caller caller =
        authenticator.authenticate(token).orElseThrow(() -> new Refused("invalid token"));
    exchange.authenticated(caller);
    return caller;
  }

  private static String token(Exchange exchange) {
    Optional<String> value = exchange.header(HeaderNames.AUTHORIZATION);
    return value
        .flatMap(Bearer::token)
        .or(() -> exchange.wantsWebSocket() ? Subprotocols.token(exchange) : Optional.empty())
        .orElseThrow(
            () ->
                new Refused(
                    value.isEmpty()
                        ? "missing authorization header"
                        : "invalid authorization format"));
  }

  /** A request of somebody known. */
  final class Desk {
    private final Exchange exchange;
    private final Caller caller;

    Desk(Exchange exchange, Caller caller) {
      this.exchange = exchange;
      this.caller = caller;
    }

    Exchange exchange() {
      return exchange;
    }

    Caller caller() {
      return caller;
    }

    SandboxId id() throws InterruptedException {
      return sandbox().id();
    }

    Sandbox sandbox() throws InterruptedException {
      return control.creates().usual(caller, SessionKey.of(exchange));
    }
  }

  /** The computer. */
  record Machine(String workspace, String os, String arch) {
    static Machine of() {
      String arch = System.getProperty("os.arch", "");
      return new Machine(Sandbox.WORKSPACE, "linux", arch.equals("aarch64") ? "arm64" : arch);
    }
  }
}
