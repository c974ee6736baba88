package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;

/** The prompts that the public conformance suite expects to find. */
final class FixturePrompts {
  private FixturePrompts() {}

  private interface Body {
    List<ObjectNode> messages(Call call) throws Exception;
  }

  private record Fixture(String name, List<Argument> arguments, Body body) implements Prompt {
    @Override
    public String title() {
      return name;
    }

    @Override
    public String description() {
      return "Fixture " + name;
    }

    @Override
    public List<ObjectNode> messages(Call call) throws Exception {
      return body.messages(call);
    }
  }

  static List<Prompt> all() {
    return List.of(
        new Fixture(
            "test_simple_prompt",
            List.of(),
            call -> List.of(user(Content.text("This is a simple prompt for testing.")))),
        new Fixture(
            "test_prompt_with_arguments",
            List.of(
                new Prompt.Argument("arg1", "First test argument", true),
                new Prompt.Argument("arg2", "Second test argument", true)),
            call ->
                List.of(
                    user(
                        Content.text(
                            "Prompt with arguments: arg1='%s', arg2='%s'"
                                .formatted(call.text("arg1"), call.text("arg2")))))),
        new Fixture(
            "test_prompt_with_embedded_resource",
            List.of(new Prompt.Argument("resourceUri", "URI of the resource to embed", true)),
            call ->
                List.of(
                    user(
                        Content.embedded(
                            call.text("resourceUri"),
                            "text/plain",
                            "Embedded resource content for testing.")),
                    user(Content.text("Please process the embedded resource above.")))),
        new Fixture(
            "test_prompt_with_image",
            List.of(),
            call ->
                List.of(
                    user(Content.image("image/png", Fixtures.PNG)),
                    user(Content.text("Please analyze the image above.")))),
        new Fixture(
            "test_input_required_result_prompt",
            List.of(),
            call -> {
              JsonNode answer =
                  call.ask(
                          List.of(
                              Inquiry.form(
                                  "user_context",
                                  "What context should the prompt use?",
                                  Fixtures.json(
                                      "{\"type\":\"object\",\"properties\":{\"context\":{\"type\":"
                                          + "\"string\"}},\"required\":[\"context\"]}"))),
                          null)
                      .path("user_context");
              return List.of(
                  user(Content.text("Context: " + answer.at("/content/context").asText())));
            }));
  }

  private static ObjectNode user(ObjectNode content) {
    return Prompt.message("user", content);
  }
}
