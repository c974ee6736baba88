package dev.carrel.server.rest;

import dev.carrel.control.host.Host;
import dev.carrel.control.host.HostAccess;
import dev.carrel.control.host.HostCommand;
import dev.carrel.control.host.HostContent;
import dev.carrel.control.host.HostFile;
import dev.carrel.control.host.HostResult;
import dev.carrel.control.host.OnBehalf;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Locale;

/** The machine that the server runs on. */
final class HostRoutes {
  private static final String ALL = "/api/v1/host";
  private static final int MAX_SECONDS = 24 * 3600;
  private static final int USUAL_BYTES = 1 << 20;

  private final Host host;

  HostRoutes(Host host) {
    this.host = host;
  }

  void addTo(Router router) {
    router
        .get(ALL, this::access)
        .post(ALL + "/exec", this::exec)
        .post(ALL + "/read", this::read)
        .post(ALL + "/write", this::write)
        .post(ALL + "/list", this::list)
        .post(ALL + "/copy", this::copy);
  }

  private void access(Exchange exchange) {
    exchange.json(200, Access.of(host.access(exchange.caller())));
  }

  private void exec(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    List<String> words = fields.words("command").orElseThrow(() -> fields.missing("command"));
    Long seconds = fields.wholeNumber("timeout_seconds", 1, MAX_SECONDS);
    var command =
        new HostCommand(
            fields.isString("command") ? HostCommand.words(words.getFirst()) : words,
            fields.string("cwd"),
            seconds == null ? null : Duration.ofSeconds(seconds),
            of(fields));
    exchange.cancelWhenClientLeaves();
    HostResult result = host.exec(exchange.caller(), command);
    exchange.settle();
    exchange.json(200, Result.of(result));
  }

  private void read(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    Long offset = fields.wholeNumber("offset", 0, Long.MAX_VALUE);
    HostContent content =
        host.read(
            exchange.caller(),
            of(fields),
            fields.requiredString("path"),
            offset == null ? 0 : offset,
            fields.wholeNumber("limit", USUAL_BYTES, 1, Integer.MAX_VALUE));
    exchange.json(200, Content.of(content, fields.bool("base64", false)));
  }

  private void write(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    String path = fields.requiredString("path");
    String content = fields.string("content");
    if (content == null) {
      throw fields.missing("content");
    }
    byte[] bytes =
        fields.bool("base64", false)
            ? decoded(fields, content)
            : content.getBytes(StandardCharsets.UTF_8);
    exchange.json(200, new Written(path, host.write(exchange.caller(), of(fields), path, bytes)));
  }

  private static byte[] decoded(Fields fields, String content) {
    try {
      return Base64.getDecoder().decode(content);
    } catch (IllegalArgumentException e) {
      throw fields.wrong("content", "is not base64");
    }
  }

  private void list(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    List<HostFile> found = host.list(exchange.caller(), of(fields), fields.requiredString("path"));
    exchange.json(200, new Listing(found.stream().map(Entry::of).toList()));
  }

  private void copy(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    String to = fields.requiredString("destination");
    long size = host.copy(exchange.caller(), of(fields), fields.requiredString("source"), to);
    exchange.json(200, new Written(to, size));
  }

  private static OnBehalf of(Fields fields) {
    String sandbox = fields.string("sandbox_id");
    return new OnBehalf(
        sandbox == null ? null : new SandboxId(sandbox), fields.string("namespace"));
  }

  record Access(
      List<String> alwaysAllowed,
      List<String> blocked,
      List<String> folders,
      List<String> writableFolders,
      List<ApprovalRoutes.View> approvals) {
    static Access of(HostAccess access) {
      return new Access(
          access.allowed(),
          access.blocked(),
          access.folders(),
          access.writable(),
          access.approvals().stream().map(ApprovalRoutes.View::of).toList());
    }
  }

  record Result(
      int exitCode,
      String stdout,
      String stderr,
      boolean timedOut,
      boolean truncated,
      long durationMs) {
    static Result of(HostResult result) {
      return new Result(
          result.code(),
          result.stdout(),
          result.stderr(),
          result.timedOut(),
          result.cut(),
          result.duration().toMillis());
    }
  }

  record Content(String path, String content, boolean base64, long size, boolean truncated) {
    static Content of(HostContent content, boolean base64) {
      return new Content(
          content.path(),
          base64
              ? Base64.getEncoder().encodeToString(content.bytes())
              : new String(content.bytes(), StandardCharsets.UTF_8),
          base64,
          content.size(),
          content.cut());
    }
  }

  record Written(String path, long size) {}

  record Listing(List<Entry> files) {}

  record Entry(String name, String path, String kind, long size, String modifiedAt) {
    static Entry of(HostFile file) {
      return new Entry(
          file.name(),
          file.path(),
          file.kind().name().toLowerCase(Locale.ROOT),
          file.size(),
          file.modifiedAt().toString());
    }
  }
}
