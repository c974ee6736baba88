package dev.carrel.server.rest;

import dev.carrel.control.transfer.Imported;
import dev.carrel.control.transfer.Imports;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Multipart;
import dev.carrel.server.http.Router;
import dev.carrel.spi.SandboxException;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Files into a sandbox: named in JSON, in the parts of a form, or as the body itself. */
final class ImportRoutes {
  private static final String FORM = "multipart/form-data";

  private final Imports imports;

  ImportRoutes(Imports imports) {
    this.imports = imports;
  }

  void addTo(Router router) {
    router.post("/api/v1/sandboxes/{id}/imports", this::run);
  }

  private void run(Exchange exchange) throws IOException, InterruptedException {
    if (exchange.hasContentType(FORM)) {
      exchange.json(200, ImportFiles.View.of(form(exchange)));
    } else if (exchange.hasContentType("application/octet-stream")) {
      exchange.json(200, ImportFiles.View.of(List.of(body(exchange))));
    } else {
      var wanted = ImportFiles.parse(exchange.fields());
      exchange.cancelWhenClientLeaves();
      List<Imported> done = imports.run(exchange.caller(), Ids.sandbox(exchange), wanted);
      exchange.settle();
      exchange.json(200, ImportFiles.View.of(done));
    }
  }

  private Imported body(Exchange exchange) throws IOException {
    String path =
        exchange
            .query()
            .text("path")
            .orElseThrow(() -> SandboxException.invalid("path", "is required"));
    boolean unpack = exchange.query().flag("unpack", false);
    return imports.run(
        exchange.caller(), Ids.sandbox(exchange), path, path, unpack, exchange.body());
  }

  private List<Imported> form(Exchange exchange) throws IOException {
    String folder = exchange.query().text("path").orElse(".");
    boolean unpack = exchange.query().flag("unpack", false);
    var parts =
        new Multipart(exchange.body(), exchange.header(HeaderNames.CONTENT_TYPE).orElse(""));
    var done = new ArrayList<Imported>();
    for (Multipart.Part part = parts.next(); part != null; part = parts.next()) {
      if (part.filename().isEmpty()) {
        continue;
      }
      if (done.size() == Imports.MAX_AT_ONCE) {
        throw SandboxException.invalid("files", "at most " + Imports.MAX_AT_ONCE + " at once");
      }
      done.add(
          imports.run(
              exchange.caller(),
              Ids.sandbox(exchange),
              part.filename(),
              unpack ? folder : folder + "/" + part.filename(),
              unpack,
              part.content()));
    }
    if (done.isEmpty()) {
      throw HttpProblem.unreadable("body", "has no part with a file name");
    }
    return done;
  }
}
