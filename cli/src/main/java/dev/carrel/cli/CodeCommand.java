package dev.carrel.cli;

import dev.carrel.sdk.CarrelException;
import dev.carrel.sdk.CodeError;
import dev.carrel.sdk.CodeEvent;
import dev.carrel.sdk.CodeOptions;
import dev.carrel.sdk.CodeResult;
import dev.carrel.sdk.CodeStream;
import dev.carrel.sdk.Contexts;
import dev.carrel.sdk.ErrorCode;
import dev.carrel.sdk.ExecEvent;
import dev.carrel.sdk.Sandbox;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "code",
    description = {
      "Run code in a sandbox's persistent interpreter: variables stay for the next call.",
      "",
      "The last expression's value is printed. Ctrl-C interrupts the code and keeps the state;"
          + " a second one leaves. Exits with 1 when the code fails."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel code ID -c 'x = 6'",
      "  carrel code ID -c 'x * 7'                 prints 42",
      "  carrel code ID -l node -c '[1,2,3].map(n => n * n)'",
      "  carrel code ID -o figures plot.py         figures are saved in figures/"
    })
final class CodeCommand implements Callable<Integer> {
  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Option(
      names = {"-c", "--code"},
      paramLabel = "CODE",
      description = "The code.")
  private @Nullable String code;

  @Option(
      names = {"-l", "--language"},
      paramLabel = "LANGUAGE",
      completionCandidates = Choices.Languages.class,
      description = "python (the default), node, r or bash.")
  private @Nullable String language;

  @Option(
      names = "--context",
      paramLabel = "CID",
      description = "A context of its own, instead of the sandbox's one of that language.")
  private @Nullable String context;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      description = "Interrupt the code after this long.")
  private @Nullable Double timeout;

  @Option(
      names = {"-o", "--output"},
      paramLabel = "DIR",
      description = "Save figures and other rich outputs in DIR.")
  private @Nullable Path output;

  @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
  private String id = "";

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "FILE",
      description = "A file with the code, or - for standard input.")
  private @Nullable String file;

  CodeCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws IOException {
    String text = text();
    CodeOptions options = CodeOptions.of(language(), text).withContextId(context);
    if (timeout != null) {
      options = options.withTimeout(Duration.ofMillis(Math.round(timeout * 1000)));
    }
    try (Session.Connection server = session.connect()) {
      Sandbox sandbox = server.carrel().sandboxes().get(id);
      if (common.json()) {
        CodeResult result = sandbox.runCode(options);
        session.console().json(result);
        return result.success() ? 0 : 1;
      }
      return follow(sandbox, options);
    }
  }

  private String language() {
    if (language != null || file == null || file.equals("-")) {
      return language == null ? "python" : language;
    }
    return switch (Program.of(Path.of(file))) {
      case PYTHON -> "python";
      case NODE -> "node";
      case R -> "r";
      case BASH -> "bash";
      case ITSELF ->
          throw new CommandFailure(
              file + " is not code of a known language", "use carrel run, or say --language");
    };
  }

  private String text() throws IOException {
    if (code != null && file != null) {
      throw CommandFailure.usage("code from -c and from " + file + "? Leave one out");
    }
    if (code != null) {
      return code;
    }
    if (file == null) {
      throw CommandFailure.usage("which code?", "give -c CODE, a file or -");
    }
    return file.equals("-")
        ? new String(session.in().readAllBytes(), StandardCharsets.UTF_8)
        : Files.readString(Path.of(file));
  }

  private int follow(Sandbox sandbox, CodeOptions options) throws IOException {
    var interrupts = new AtomicInteger();
    var started = new AtomicBoolean();
    try (CodeStream stream = sandbox.runCodeStream(options);
        Signals.Handling _ =
            Signals.handle(
                "INT",
                () -> {
                  // What runs while ours waits is somebody else's: then we only leave the line.
                  int times = started.get() ? 1 : 2;
                  interrupt(sandbox, stream, interrupts.addAndGet(times));
                })) {
      int shown = 0;
      long missing = 0;
      for (Optional<CodeEvent> next = stream.next(); next.isPresent(); next = stream.next()) {
        switch (next.get()) {
          case CodeEvent.Queued _ -> {}
          case CodeEvent.Started _ -> started.set(true);
          case CodeEvent.Output text -> print(text);
          case CodeEvent.Display display -> show(display.bundle(), ++shown);
          case CodeEvent.Result result -> show(result.bundle(), ++shown);
          case CodeEvent.Gap gap -> missing += gap.events();
          case CodeEvent.Failed failed -> print(failed.error());
          case CodeEvent.Done done -> {
            return end(done, missing);
          }
        }
      }
    }
    if (interrupts.get() > 1) {
      return Cli.INTERRUPTED;
    }
    throw new CommandFailure("the connection ended before the code did");
  }

  private void interrupt(Sandbox sandbox, CodeStream stream, int times) {
    try {
      switch (times) {
        case 1 ->
            sandbox.contexts().list().stream()
                .filter(this::isOurs)
                .forEach(ours -> sandbox.contexts().interrupt(ours.id()));
        case 2 -> stream.close();
        default -> System.exit(Cli.INTERRUPTED);
      }
    } catch (CarrelException e) {
      if (e.code() == ErrorCode.UNREACHABLE) {
        System.exit(Cli.INTERRUPTED);
      }
      // Otherwise it has ended by itself just now.
    }
  }

  private boolean isOurs(Contexts.Context known) {
    if (context != null) {
      return known.id().equals(context);
    }
    String ours = Program.ofLanguage(language()).name().toLowerCase(Locale.ROOT);
    return known.ofSandbox() && known.language().equals(ours);
  }

  private void print(CodeEvent.Output output) {
    var stream =
        output.channel() == ExecEvent.Channel.STDOUT
            ? session.console().out()
            : session.console().err();
    stream.print(output.text());
    Console.requireRead(stream);
  }

  private void print(CodeError error) {
    String text =
        error.traceback().isEmpty() ? error.type() + ": " + error.message() : error.traceback();
    session.console().note(text.stripTrailing());
  }

  private void show(Map<String, String> bundle, int number) throws IOException {
    String text = bundle.get("text/plain");
    if (text != null) {
      session.console().line(text);
    }
    for (var entry : bundle.entrySet()) {
      if (!entry.getKey().equals("text/plain")) {
        save(entry.getKey(), entry.getValue(), number);
      }
    }
  }

  private void save(String mime, String data, int number) throws IOException {
    if (output == null) {
      session.console().note("[" + session.console().safe(mime) + "; save it with -o DIR]");
      return;
    }
    Files.createDirectories(output);
    Path target = output.resolve("output-" + number + extension(mime));
    if (mime.startsWith("text/") || mime.endsWith("json") || mime.endsWith("xml")) {
      Files.writeString(target, data);
    } else {
      Files.write(target, Base64.getMimeDecoder().decode(data));
    }
    session.console().note("saved " + target);
  }

  private static String extension(String mime) {
    return switch (mime) {
      case "image/png" -> ".png";
      case "image/jpeg" -> ".jpg";
      case "image/svg+xml" -> ".svg";
      case "text/html" -> ".html";
      case "text/markdown" -> ".md";
      case "text/latex" -> ".tex";
      case "application/json" -> ".json";
      default -> ".bin";
    };
  }

  private int end(CodeEvent.Done done, long missing) {
    Console console = session.console();
    if (missing > 0) {
      console.error(missing + " pieces of its output are missing: they were no longer kept");
    }
    if (done.timedOut()) {
      console.error("timed out");
    }
    if (done.state().equals("lost")) {
      console.error("the interpreter ended (" + done.cause() + "); its state is lost");
    }
    if (done.hint() != null) {
      console.hint(done.hint());
    }
    if (done.interrupted()) {
      return Cli.INTERRUPTED;
    }
    if (!done.success()) {
      return 1;
    }
    return missing > 0 ? Cli.FAILED : 0;
  }
}
