package dev.carrel.e2e.security;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Api.Answer;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The host, for agents that were talked into using it and for code that never may. */
@ExtendWith(Carrel.class)
@Timeout(180)
class HostAccessIT {
  private static final String EXEC = "/api/v1/host/exec";

  private final Api api;

  HostAccessIT(Api api) {
    this.api = api;
  }

  private static ObjectNode command(String... words) {
    ObjectNode body = Api.object();
    List.of(words).forEach(body.putArray("command")::add);
    return body;
  }

  private static String key(Api admin) {
    ObjectNode body = Api.object().put("name", "agent").put("principal", "agent");
    body.putArray("permissions").add("host");
    return admin.post("/api/v1/keys", body).json().get("key").asText();
  }

  @Test
  void aServerAsItComesLendsNothingOut() {
    Answer refused = api.post(EXEC, command("uname", "-a"));
    assertThat(refused.status()).isEqualTo(403);
    assertThat(refused.text()).contains("host.enabled");
    assertThat(api.post("/api/v1/host/read", Api.object().put("path", "/etc/hostname")).status())
        .isEqualTo(403);
  }

  @Test
  void anAgentGetsWhatAPersonAllowedAndASandboxNothing(@TempDir Path folder) throws Exception {
    Path lent = Files.createDirectory(folder.resolve("lent"));
    Files.writeString(lent.resolve("note"), "hello");
    Files.writeString(folder.resolve("canary"), "canary");
    Files.createSymbolicLink(lent.resolve("link"), folder.resolve("canary"));
    var settings =
        Map.of("CARREL_HOST_ENABLED", "true", "CARREL_HOST_FOLDERS", lent.toRealPath().toString());
    try (ServerProcess server = Carrel.start(folder.resolve("state"), settings);
        Api admin = new Api(server.address(), server.token())) {
      String token = key(admin);
      try (Api agent = new Api(server.address(), token)) {
        attackAsAgent(admin, agent, lent.toRealPath(), server);
        attackFromInside(admin, token, server);
      }
    }
  }

  private static void attackAsAgent(Api admin, Api agent, Path lent, ServerProcess server) {
    assertThat(agent.post(EXEC, command("uname", "-a")).text()).contains("Linux");
    assertThat(admin.post(EXEC, command("uname", "-a")).status())
        .as("no role has the permission")
        .isEqualTo(403);
    for (ObjectNode attack :
        List.of(
            command("uname", "-a", ";", "id"),
            command("uname", "-a; id"),
            command("bash", "-c", "id"),
            command("/bin/bash", "-c", "id"),
            command("env", "LD_PRELOAD=/tmp/x", "uname", "-a"),
            command("carrel", "approvals", "list"),
            command(
                "cat", server.runDirectory().resolveSibling("data").resolve("token").toString()),
            command("cat", "/etc/passwd"))) {
      assertThat(agent.post(EXEC, attack).status()).as(attack.toString()).isEqualTo(403);
    }
    assertThat(agent.post(EXEC, command("uname", "-a\nid")).status()).isEqualTo(422);
    assertThat(agent.post(EXEC, command("uname", "-a\0")).status()).isEqualTo(422);
    assertThat(read(agent, lent.resolve("note").toString()).text()).contains("hello");
    for (String path :
        List.of(lent + "/link", lent.resolveSibling("canary").toString(), "/proc/self/environ")) {
      Answer refused = read(agent, path);
      assertThat(refused.status()).as(path).isEqualTo(403);
      assertThat(refused.text()).doesNotContain("\"canary\"");
    }
    ObjectNode ask =
        Api.object().put("kind", "host_command").put("subject", "seq 2").put("scope", "once");
    String decision =
        "/api/v1/approvals/"
            + agent.post("/api/v1/approvals", ask).json().get("id").asText()
            + "/decision";
    ObjectNode yes = Api.object().put("approve", true);
    assertThat(agent.post(decision, yes).status()).as("its own request").isEqualTo(403);
    assertThat(admin.post(decision, yes).status()).isEqualTo(200);
    assertThat(agent.post(EXEC, command("seq", "3")).status()).isEqualTo(403);
    assertThat(agent.post(EXEC, command("seq", "2")).json().get("stdout").asText())
        .isEqualTo("1\n2\n");
    assertThat(agent.post(EXEC, command("seq", "2")).status()).as("used").isEqualTo(403);
    assertThat(admin.get("/api/v1/audit?action=host&limit=100").text())
        .contains("seq 2", "denied", "bash -c id");
  }

  private static Answer read(Api agent, String path) {
    return agent.post("/api/v1/host/read", Api.object().put("path", path));
  }

  /** Even with a token that somebody gave it. */
  private static void attackFromInside(Api admin, String token, ServerProcess server) {
    String code =
        """
        import urllib.request
        for opener in (urllib.request.build_opener(), urllib.request.build_opener(urllib.request.ProxyHandler({}))):
            request = urllib.request.Request('%s%s', data=b'{"command":["uname","-a"]}',
                headers={'Authorization': 'Bearer %s', 'Content-Type': 'application/json'})
            try:
                print('REACHED', opener.open(request, timeout=10).read())
            except Exception as e:
                print('refused', type(e).__name__)
        """
            .formatted(server.address(), EXEC, token);
    try (Box box = admin.create("{}")) {
      box.put("attack.py", code);
      String seen = box.shell("python3 attack.py");
      assertThat(seen).contains("refused").doesNotContain("REACHED").endsWith("exit 0");
    }
  }
}
