package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The resources that the public conformance suite expects to find. */
final class FixtureResources implements ResourceSource {
  private static final Pattern TEMPLATE = Pattern.compile("test://template/([^/]+)/data");

  @Override
  public List<About> list(Call call) {
    return List.of(
        new About("test://static-text", "static-text", "A text", "text/plain"),
        new About("test://static-binary", "static-binary", "An image", "image/png"),
        new About("test://watched-resource", "watched-resource", "Changes", "text/plain"));
  }

  @Override
  public List<Template> templates() {
    return List.of(
        new Template("test://template/{id}/data", "template", "Data by id", "application/json"));
  }

  @Override
  public Optional<List<ObjectNode>> read(Call call, String uri) {
    Matcher template = TEMPLATE.matcher(uri);
    if (template.matches()) {
      String id = template.group(1);
      return Optional.of(
          List.of(
              Content.textOf(
                  uri,
                  "application/json",
                  "{\"id\":\"%s\",\"templateTest\":true,\"data\":\"Data for ID: %s\"}"
                      .formatted(id, id))));
    }
    return switch (uri) {
      case "test://static-text" ->
          Optional.of(
              List.of(
                  Content.textOf(
                      uri, "text/plain", "This is the content of the static text resource.")));
      case "test://static-binary" ->
          Optional.of(List.of(Content.blobOf(uri, "image/png", Fixtures.PNG)));
      case "test://watched-resource" ->
          Optional.of(List.of(Content.textOf(uri, "text/plain", "Watched resource content")));
      default -> Optional.empty();
    };
  }
}
