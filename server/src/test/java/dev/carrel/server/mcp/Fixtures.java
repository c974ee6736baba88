package dev.carrel.server.mcp;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** The tools, prompts and resources that the public conformance suite expects to find. */
final class Fixtures {
  static final String PNG =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
  private static final String WAV =
      "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String NO_ARGUMENTS = "{\"type\":\"object\"}";

  private final List<Tool> tools = new ArrayList<>();
  private @Nullable Catalog catalog;

  private interface Body {
    ToolResult run(Call call) throws Exception;
  }

  private record Fixture(Tool.About info, Body body) implements Tool {
    @Override
    public ToolResult call(Call call) throws Exception {
      return body.run(call);
    }
  }

  static Catalog catalog() {
    var fixtures = new Fixtures();
    fixtures.addContents();
    fixtures.addConversations();
    fixtures.addInputRequired();
    fixtures.addChanges();
    var catalog =
        new Catalog(
            Map.of("conformance", fixtures.tools),
            Set.of("conformance"),
            FixturePrompts.all(),
            List.of(new FixtureResources()),
            List.of(),
            Set.of(Catalog.Kind.values()),
            "Fixtures of the conformance suite.");
    fixtures.catalog = catalog;
    return catalog;
  }

  static ObjectNode json(String text) {
    try {
      return (ObjectNode) JSON.readTree(text);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(text, e);
    }
  }

  private void add(String name, String schema, Body body) {
    tools.add(
        new Fixture(
            new Tool.About(name, name, "Fixture " + name, json(schema), null, Tool.Effect.READ),
            body));
  }

  private void add(String name, Body body) {
    add(name, NO_ARGUMENTS, body);
  }

  private static ToolResult content(ObjectNode... blocks) {
    return new ToolResult(List.of(blocks), null, false);
  }

  private static void pause() {
    LockSupport.parkNanos(50_000_000);
  }

  private void addContents() {
    add("test_simple_text", call -> ToolResult.text("This is a simple text response for testing."));
    add("test_image_content", call -> content(Content.image("image/png", PNG)));
    add("test_audio_content", call -> content(Content.audio("audio/wav", WAV)));
    add(
        "test_embedded_resource",
        call ->
            content(
                Content.embedded(
                    "test://embedded-resource",
                    "text/plain",
                    "This is an embedded resource content.")));
    add(
        "test_multiple_content_types",
        call ->
            content(
                Content.text("Multiple content types test:"),
                Content.image("image/png", PNG),
                Content.embedded(
                    "test://mixed-content-resource",
                    "application/json",
                    "{\"test\":\"data\",\"value\":123}")));
    add(
        "test_error_handling",
        call -> ToolResult.error("This tool intentionally returns an error for testing"));
    add(
        "json_schema_2020_12_tool",
        """
        {"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
         "$defs":{"address":{"$anchor":"addressDef","type":"object",
           "properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
         "properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},
           "contactMethod":{"type":"string","enum":["phone","email"]},
           "phone":{"type":"string"},"email":{"type":"string"}},
         "allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
         "if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
         "then":{"required":["phone"]},"else":{"required":["email"]},
         "additionalProperties":false}""",
        call -> ToolResult.text("valid"));
  }

  private void addConversations() {
    add(
        "test_tool_with_logging",
        call -> {
          call.log(LogLevel.INFO, "fixture", "Tool execution started");
          pause();
          call.log(LogLevel.INFO, "fixture", "Tool processing data");
          pause();
          call.log(LogLevel.INFO, "fixture", "Tool execution completed");
          return ToolResult.text("Tool with logging executed successfully");
        });
    add(
        "test_logging_tool",
        call -> {
          call.log(LogLevel.INFO, "fixture", "a message");
          return ToolResult.text("logged");
        });
    add(
        "test_tool_with_progress",
        call -> {
          call.progress(0, 100.0, null);
          pause();
          call.progress(50, 100.0, null);
          pause();
          call.progress(100, 100.0, null);
          return ToolResult.text("done");
        });
    add(
        "test_reconnection",
        call -> {
          call.progress(1, 2.0, null);
          call.hangUp();
          pause();
          return ToolResult.text("Reconnection test completed");
        });
    add(
        "test_sampling",
        "{\"type\":\"object\",\"properties\":{\"prompt\":{\"type\":\"string\"}},\"required\":[\"prompt\"]}",
        call ->
            ToolResult.text("LLM response: " + sampled(call, "sample", call.text("prompt"), 100)));
    add(
        "test_elicitation",
        "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"}},\"required\":[\"message\"]}",
        call ->
            elicited(
                call,
                "User response",
                call.text("message"),
                """
                {"type":"object","properties":{
                  "username":{"type":"string","description":"User's response"},
                  "email":{"type":"string","description":"User's email address"}},
                 "required":["username","email"]}"""));
    add(
        "test_elicitation_sep1034_defaults",
        call ->
            elicited(
                call,
                "Elicitation completed",
                "Please review the defaults",
                """
                {"type":"object","properties":{
                  "name":{"type":"string","default":"John Doe"},
                  "age":{"type":"integer","default":30},
                  "score":{"type":"number","default":95.5},
                  "status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
                  "verified":{"type":"boolean","default":true}}}"""));
    add(
        "test_elicitation_sep1330_enums",
        call ->
            elicited(
                call,
                "Elicitation completed",
                "Please choose",
                """
                {"type":"object","properties":{
                  "untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
                  "titledSingle":{"type":"string","oneOf":[
                    {"const":"value1","title":"First Option"},
                    {"const":"value2","title":"Second Option"},
                    {"const":"value3","title":"Third Option"}]},
                  "legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],
                    "enumNames":["Option One","Option Two","Option Three"]},
                  "untitledMulti":{"type":"array","items":{"type":"string",
                    "enum":["option1","option2","option3"]}},
                  "titledMulti":{"type":"array","items":{"anyOf":[
                    {"const":"value1","title":"First Choice"},
                    {"const":"value2","title":"Second Choice"},
                    {"const":"value3","title":"Third Choice"}]}}}}"""));
    add("test_streaming_elicitation", call -> greeting(call));
    add(
        "test_missing_capability",
        call -> {
          call.require(Inquiry.Kind.SAMPLING);
          return ToolResult.text("sampling is there");
        });
  }

  private static ToolResult elicited(Call call, String what, String message, String schema)
      throws InterruptedException {
    JsonNode answer =
        call.ask(List.of(Inquiry.form("form", message, json(schema))), null).path("form");
    return ToolResult.text(
        what
            + ": action="
            + answer.path("action").asText()
            + ", content="
            + answer.path("content"));
  }

  private static Inquiry sampling(String key, String text, int maxTokens) {
    ObjectNode params =
        json("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\"}}]}");
    ((ObjectNode) params.at("/messages/0/content")).put("text", text);
    return new Inquiry(key, Inquiry.Kind.SAMPLING, params.put("maxTokens", maxTokens));
  }

  private static Inquiry name(String key, String message) {
    return Inquiry.form(
        key,
        message,
        json(
            "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}},"
                + "\"required\":[\"name\"]}"));
  }

  private static Inquiry confirm() {
    return Inquiry.form(
        "confirm",
        "Please confirm",
        json(
            "{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}},"
                + "\"required\":[\"ok\"]}"));
  }

  private static Inquiry roots() {
    return new Inquiry("client_roots", Inquiry.Kind.ROOTS, json("{}"));
  }

  private static String sampled(Call call, String key, String text, int maxTokens)
      throws InterruptedException {
    return call.ask(List.of(sampling(key, text, maxTokens)), null)
        .path(key)
        .at("/content/text")
        .asText();
  }

  private static ToolResult greeting(Call call) throws InterruptedException {
    JsonNode answer =
        call.ask(List.of(name("user_name", "What is your name?")), null).path("user_name");
    return ToolResult.text("Hello, " + answer.at("/content/name").asText() + "!");
  }

  private void addInputRequired() {
    add("test_input_required_result_elicitation", Fixtures::greeting);
    add(
        "test_input_required_result_sampling",
        call ->
            ToolResult.text(
                sampled(call, "capital_question", "What is the capital of France?", 100)));
    add(
        "test_input_required_result_list_roots",
        call -> ToolResult.text("Roots: " + call.ask(List.of(roots()), null).path("client_roots")));
    add(
        "test_input_required_result_request_state",
        call -> {
          Optional<String> state = call.state();
          call.ask(List.of(confirm()), "round-1");
          return ToolResult.text(state.filter("round-1"::equals).isPresent() ? "state-ok" : "none");
        });
    add(
        "test_input_required_result_tampered_state",
        call -> {
          call.state();
          call.ask(List.of(confirm()), "round-1");
          return ToolResult.text("state-ok");
        });
    add(
        "test_input_required_result_multiple_inputs",
        call -> {
          call.state();
          ObjectNode answers =
              call.ask(
                  List.of(
                      name("user_name", "What is your name?"),
                      sampling("greeting", "Generate a greeting", 50),
                      roots()),
                  "all");
          return ToolResult.text("Answers: " + answers);
        });
    add(
        "test_input_required_result_multi_round",
        call -> {
          String state = call.state().orElse("");
          if (!state.startsWith("named:")) {
            JsonNode first =
                call.ask(List.of(name("step1", "Step 1: What is your name?")), "begun")
                    .path("step1");
            state = "named:" + first.at("/content/name").asText();
          }
          JsonNode second =
              call.ask(
                      List.of(
                          Inquiry.form(
                              "step2",
                              "Step 2: What is your favorite color?",
                              json(
                                  "{\"type\":\"object\",\"properties\":{\"color\":{\"type\":\"string\"}},"
                                      + "\"required\":[\"color\"]}"))),
                      state)
                  .path("step2");
          return ToolResult.text(state + " likes " + second.at("/content/color").asText());
        });
    add(
        "test_input_required_result_capabilities",
        call -> {
          var inquiries = new ArrayList<Inquiry>();
          if (call.can(Inquiry.Kind.ELICITATION)) {
            inquiries.add(confirm());
          }
          if (call.can(Inquiry.Kind.SAMPLING)) {
            inquiries.add(sampling("sample", "Say something", 10));
          }
          return ToolResult.text("Answers: " + call.ask(inquiries, null));
        });
  }

  private void addChanges() {
    add("test_trigger_tool_change", call -> announce(new Catalog.News.Tools()));
    add("test_trigger_prompt_change", call -> announce(new Catalog.News.Prompts()));
  }

  private ToolResult announce(Catalog.News news) {
    if (catalog != null) {
      catalog.announce(news);
    }
    return ToolResult.text("announced");
  }
}
