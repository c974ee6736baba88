package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import dev.carrel.server.mcp.McpClient;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Skills over REST and over MCP. */
@ExtendWith(SharedServer.class)
class SkillRoutesTest {
  private static final String SKILLS = "/api/v1/skills";

  private final LiveServer server;

  SkillRoutesTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void aSkillIsKeptShownInstalledAndDeleted() {
    JsonNode first = uploaded(201, "rest-life", "one");
    assertThat(first.get("source_type").asText()).isEqualTo("zip");
    assertThat(first.get("package_size_bytes").asLong()).isPositive();
    assertThat(first.at("/skill_metadata/license").asText()).isEqualTo("MIT");
    assertThat(uploaded(200, "rest-life", "one")).isEqualTo(first);
    assertThat(uploaded(200, "rest-life", "two").get("version").asInt()).isEqualTo(2);

    String one = SKILLS + "/rest-life";
    JsonNode shown = server.get(one).json();
    assertThat(shown.get("id")).isEqualTo(first.get("id"));
    assertThat(shown.at("/files/1/path").asText()).isEqualTo("data.txt");
    assertThat(server.get(SKILLS).json().at("/skills").findValuesAsText("name"))
        .contains("rest-life");
    Answer file = server.get(one + "/files/data.txt");
    assertThat(file.text()).isEqualTo("two");
    assertThat(file.response().headers().firstValue("Content-Security-Policy"))
        .hasValueSatisfying(policy -> assertThat(policy).startsWith("sandbox"));

    String sandbox = server.sandbox();
    JsonNode done = install(sandbox, "[\"rest-life\",\"skaaaaaaaaaaaaaa\"]");
    assertThat(done.at("/installed/0/path").asText()).isEqualTo("/workspace/skills/rest-life");
    assertThat(done.at("/not_found/0").asText()).isEqualTo("skaaaaaaaaaaaaaa");
    assertThat(install(sandbox, "[\"rest-life\"]").get("already_installed")).hasSize(1);
    assertThat(server.get(sandbox).json().at("/skills/0/name").asText()).isEqualTo("rest-life");
    assertThat(server.get(sandbox + "/skills").json().at("/skills/0/version").asInt()).isEqualTo(2);

    assertThat(server.delete(one).status()).isEqualTo(204);
    assertThat(server.get(one).json().get("code").asText()).isEqualTo("skill_not_found");
  }

  @Test
  void aFormIsTakenAndHostileOnesAreNot() {
    String form =
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.md\"\r\n\r\n"
            + main("rest-form")
            + "\r\n--b--\r\n";
    assertThat(send("", "multipart/form-data; boundary=b", form.getBytes(StandardCharsets.UTF_8)))
        .satisfies(answer -> assertThat(answer.status()).as(answer.text()).isEqualTo(201));
    Answer evil = upload("evil.zip", zip("SKILL.md", main("rest-evil"), "../../x", "y"));
    assertThat(evil.status()).isEqualTo(422);
    assertThat(evil.json().get("detail").asText()).contains("leads out");
    assertThat(upload("bomb.zip", zip("SKILL.md", main("rest-evil"), "x", "\0".repeat(20 << 20))))
        .satisfies(answer -> assertThat(answer.status()).isEqualTo(413));
    assertThat(upload("x.tar", new byte[1]).status()).isEqualTo(422);
    assertThat(send("", "application/octet-stream", new byte[1]).status()).isEqualTo(422);
    assertThat(server.get(SKILLS + "/rest-evil").status()).isEqualTo(404);
    assertThat(server.get(SKILLS + "/rest-form/files/..%2Fx").status()).isEqualTo(400);
    server.delete(SKILLS + "/rest-form");
  }

  @Test
  void anAgentReadsALittleAtATime() {
    uploaded(201, "mcp-disclosed", "the rest");
    var mcp = new McpClient(server);
    JsonNode listed = resources(mcp);
    JsonNode skill = find(listed, "name", "mcp-disclosed");
    assertThat(skill.get("uri").asText()).isEqualTo("skill://mcp-disclosed/SKILL.md");
    assertThat(skill.get("description").asText()).isEqualTo("Tries things.");
    assertThat(listed.toString()).doesNotContain("How it is done").doesNotContain("data.txt");

    assertThat(read(mcp, "skill://mcp-disclosed/SKILL.md")).contains("How it is done");
    assertThat(read(mcp, "skill://mcp-disclosed/")).contains("skill://mcp-disclosed/data.txt");
    assertThat(read(mcp, "skill://mcp-disclosed/data.txt")).isEqualTo("the rest");
    assertThat(mcp.modern("resources/templates/list", "{}").result().toString())
        .contains("skill://{name}/{+path}");

    var bob = new McpClient(server, "/mcp", LiveServer.BOB);
    for (String uri :
        new String[] {
          "skill://mcp-disclosed/SKILL.md",
          "skill://mcp-disclosed/",
          "skill://mcp-disclosed",
          "skill://none/SKILL.md"
        }) {
      assertThat(bob.modern("resources/read", "{\"uri\":\"" + uri + "\"}").error())
          .as(uri)
          .isEqualTo(-32602);
    }
    assertThat(bob.modern("resources/list", "{}").result().toString())
        .doesNotContain("mcp-disclosed");
    server.delete(SKILLS + "/mcp-disclosed");
  }

  @Test
  void theExtensionsMethodsTellOfDigests() {
    JsonNode kept = uploaded(201, "mcp-extended", "x");
    var mcp = new McpClient(server);
    assertThat(
            mcp.modern("server/discover", "{}")
                .result()
                .at("/capabilities/extensions")
                .has("io.modelcontextprotocol/skills"))
        .isTrue();
    JsonNode all = mcp.modern("skills/list", "{}").result();
    assertThat(all.has("ttlMs")).isTrue();
    JsonNode entry = find(all.get("skills"), "uri", "skill://mcp-extended/SKILL.md");
    assertThat(entry.at("/frontmatter/license").asText()).isEqualTo("MIT");
    assertThat(entry.at("/resources/0/digest").asText()).startsWith("sha256:");
    String one = "{\"uri\":\"skill://mcp-extended/SKILL.md\"}";
    assertThat(mcp.modern("skills/get", one).result().get("skill")).isEqualTo(entry);
    var bob = new McpClient(server, "/mcp", LiveServer.BOB);
    assertThat(bob.modern("skills/get", one).error()).isEqualTo(-32602);

    var tools = new McpClient(server, "/mcp?tools=skills,code");
    assertThat(tools.text("list_skills", "{}")).contains("mcp-extended");
    JsonNode done =
        tools.call("install_skills", "{\"skills\":[\"mcp-extended\"]}").get("structuredContent");
    assertThat(done.at("/installed/0/digest")).isEqualTo(kept.get("digest"));
    server.delete(SKILLS + "/mcp-extended");
  }

  private static String read(McpClient mcp, String uri) {
    return mcp.modern("resources/read", "{\"uri\":\"" + uri + "\"}")
        .result()
        .at("/contents/0/text")
        .asText();
  }

  /** Of all pages: others that use this server have sandboxes. */
  private static JsonNode resources(McpClient mcp) {
    var all = JsonNodeFactory.instance.arrayNode();
    String cursor = "";
    do {
      JsonNode page =
          mcp.modern("resources/list", cursor.isEmpty() ? "{}" : "{\"cursor\":\"" + cursor + "\"}")
              .result();
      page.get("resources").forEach(all::add);
      cursor = page.path("nextCursor").asText();
    } while (!cursor.isEmpty());
    return all;
  }

  private static JsonNode find(JsonNode array, String field, String value) {
    for (JsonNode one : array) {
      if (one.path(field).asText().equals(value)) {
        return one;
      }
    }
    throw new AssertionError("no " + field + " " + value + " in " + array);
  }

  private JsonNode uploaded(int status, String name, String data) {
    Answer answer = upload("it.zip", zip("SKILL.md", main(name), "data.txt", data));
    assertThat(answer.status()).as(answer.text()).isEqualTo(status);
    return answer.json();
  }

  private Answer upload(String filename, byte[] content) {
    return send("?filename=" + filename, "application/octet-stream", content);
  }

  private Answer send(String query, String type, byte[] content) {
    return server.send(
        server
            .request("POST", SKILLS + "/upload" + query, BodyPublishers.ofByteArray(content))
            .header("Content-Type", type)
            .build());
  }

  private JsonNode install(String sandbox, String skills) {
    Answer answer = server.post(sandbox + "/skills", "{\"skill_ids\":" + skills + "}");
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return answer.json();
  }

  private static String main(String name) {
    return "---\nname: "
        + name
        + "\ndescription: Tries things.\nlicense: MIT\n---\n\nHow it is done.\n";
  }

  private static byte[] zip(String... namesAndContents) {
    var bytes = new ByteArrayOutputStream();
    try (var zip = new ZipOutputStream(bytes)) {
      for (int i = 0; i < namesAndContents.length; i += 2) {
        zip.putNextEntry(new ZipEntry(namesAndContents[i]));
        zip.write(namesAndContents[i + 1].getBytes(StandardCharsets.UTF_8));
        zip.closeEntry();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }
}
