package dev.carrel.e2e;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.e2e.Api.Answer;
import java.nio.charset.StandardCharsets;

/** One sandbox under test; deleted when closed. */
public record Box(Api api, String id, JsonNode created) implements AutoCloseable {
  public String path() {
    return "/api/v1/sandboxes/" + id;
  }

  public JsonNode exec(String command) {
    return exec(command, 60);
  }

  public JsonNode exec(String command, int timeoutSeconds) {
    ObjectNode body = Api.object().put("command", command).put("timeout_seconds", timeoutSeconds);
    return require(api.post(path() + "/exec", body));
  }

  /** The status that the server answers with when a command is to be run. */
  public int tried(String command) {
    return api.post(path() + "/exec", Api.object().put("command", command)).status();
  }

  /** What the command printed, both streams, with its exit code on the last line. */
  public String shell(String command) {
    JsonNode result = exec(command);
    return result.get("stdout").asText()
        + result.get("stderr").asText()
        + "exit "
        + result.get("exit_code").asText();
  }

  public JsonNode python(String code) {
    return code("python", code, 60);
  }

  public JsonNode code(String language, String code, int timeoutSeconds) {
    ObjectNode body =
        Api.object()
            .put("language", language)
            .put("code", code)
            .put("timeout_seconds", timeoutSeconds);
    return require(api.post(path() + "/code", body));
  }

  public void put(String file, String content) {
    require(api.bytes("PUT", path() + "/files/" + file, content.getBytes(StandardCharsets.UTF_8)));
  }

  public Answer file(String file) {
    return api.get(path() + "/files/" + file);
  }

  private static JsonNode require(Answer answer) {
    if (answer.status() < 200 || answer.status() > 299) {
      throw new AssertionError(answer.status() + " " + answer.text());
    }
    return answer.body().length == 0 ? Api.object() : answer.json();
  }

  @Override
  public void close() {
    api.call("DELETE", path(), "");
  }
}
