package dev.carrel.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "bridge",
    description = {
      "Carry a value between interpreters.",
      "",
      "With JSON: give a variable that value. With --to-language, --to or --as: carry what it holds."
          + " With neither: tell what it holds."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel bridge ID limits '{\"max\": 10}'",
      "  carrel bridge ID rows --to-language r",
      "  carrel bridge ID frame --format table --to-language r --as df",
      "  carrel bridge ID rows"
    })
final class BridgeCommand implements Callable<Integer> {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
  private String id = "";

  @Parameters(index = "1", paramLabel = "NAME", description = "The variable.")
  private String name = "";

  @Parameters(index = "2", arity = "0..1", paramLabel = "JSON", description = "Its new value.")
  private @Nullable String value;

  @Option(
      names = {"-l", "--language"},
      paramLabel = "LANGUAGE",
      completionCandidates = Choices.Languages.class,
      description = "python, node, r or bash (default: ${DEFAULT-VALUE}).")
  private String language = "python";

  @Option(
      names = "--to-language",
      paramLabel = "LANGUAGE",
      completionCandidates = Choices.Languages.class,
      description = "Carry it there.")
  private @Nullable String toLanguage;

  @Option(names = "--to", paramLabel = "ID", description = "Carry it to this sandbox.")
  private @Nullable String toSandbox;

  @Option(names = "--as", paramLabel = "NAME", description = "What it is called there.")
  private @Nullable String toName;

  @Option(
      names = "--format",
      paramLabel = "FORM",
      completionCandidates = Choices.Forms.class,
      description = "json or table.")
  private String format = "json";

  BridgeCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws JsonProcessingException {
    var request = new HashMap<String, Object>();
    request.put("name", name);
    request.put("language", language);
    request.put("format", format);
    put(request, "to_language", toLanguage);
    put(request, "to_sandbox_id", toSandbox);
    put(request, "to_name", toName);
    if (value != null) {
      try {
        request.put("value", JSON.readTree(value));
      } catch (JsonProcessingException e) {
        throw CommandFailure.usage("the value is no JSON", "text needs quotes: '\"text\"'");
      }
    }
    Console console = session.console();
    try (Session.Connection server = session.connect()) {
      Map<String, Object> done = server.carrel().sandboxes().get(id).bridge(request);
      if (common.json()) {
        console.json(done);
      } else if (value == null && toLanguage == null && toSandbox == null && toName == null) {
        console.line(console.safe(JSON.writeValueAsString(done.get("value"))));
      } else {
        console.note(done.get("name") + " of " + done.get("language") + " is set");
      }
    }
    return 0;
  }

  private static void put(Map<String, Object> request, String field, @Nullable String text) {
    if (text != null) {
      request.put(field, text);
    }
  }
}
