package dev.carrel.dist;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.carrel.cli.ServedServer;
import dev.carrel.dist.Desk.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The names that people and agents know from elsewhere, each of which does its thing. */
@Timeout(120)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class CommandNamesIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** What a person types for what an agent calls. */
  private static final Map<String, String> COMMANDS =
      Map.ofEntries(
          entry("create_session", "session create"),
          entry("execute_code", "code"),
          entry("execute_terminal", "exec"),
          entry("terminate_session", "session kill"),
          entry("stop_session", "session kill"),
          entry("list_sessions", "session list"),
          entry("list_runtimes", "doctor"),
          entry("inspect_state", "inspect"),
          entry("validate_code", "validate"),
          entry("install_package", "install"),
          entry("install_skills", "skills install"),
          entry("list_skills", "skills list"),
          entry("bridge_data", "bridge"),
          entry("import_files", "import"),
          entry("export_files", "export"),
          entry("Bash", "exec"),
          entry("Glob", "files glob"),
          entry("Grep", "files grep"),
          entry("Read", "files get"),
          entry("Write", "files put"),
          entry("Edit", "files edit"),
          entry("WebFetch", "web fetch"),
          entry("WebSearch", "web search"),
          entry("fetch_webpage", "web fetch"),
          entry("request_egress", "egress"),
          entry("list_approvals", "approvals list"),
          entry("egress_decisions", "egress decisions"),
          entry("audit_execution", "audit"),
          entry("list_secrets", "vault list"),
          entry("get_artifacts", "artifacts"),
          entry("sandbox_stats", "stats"),
          entry("set_resource_limits", "limits"),
          entry("host_exec", "host exec"),
          entry("request_host_access", "host access request"),
          entry("list_host_access", "host access list"),
          entry("host_file_read", "host read"),
          entry("host_file_write", "host write"),
          entry("host_file_list", "host list"),
          entry("host_file_copy", "host copy"));

  private Path folder = Path.of("");
  private Desk desk;
  private ServedServer server;

  @BeforeAll
  void serve(@TempDir Path temporary) throws IOException {
    folder = temporary;
    desk = new Desk(folder);
    server = desk.serve();
  }

  @AfterAll
  void stop() {
    desk.carrel("sandbox", "delete", "--all");
    server.close();
  }

  @Test
  void everyToolHasACommand() throws IOException {
    List<String> tools = tools();
    assertThat(tools).contains("execute_code", "Bash", "request_egress", "WebFetch");
    assertThat(COMMANDS.keySet()).containsAll(tools);
    assertThat(COMMANDS.keySet().stream().filter(tool -> !tool.contains("host")))
        .as("names of tools that there are")
        .allMatch(tools::contains);
    // Those of the host are not offered here, and have their commands all the same.
    COMMANDS.values().forEach(this::helps);
  }

  @Test
  void theDocumentHasEveryTool() throws IOException {
    String document =
        Files.readString(Path.of(System.getProperty("carrel.root", ".."), "docs/cli.md"));
    assertThat(COMMANDS.keySet()).allMatch(tool -> document.contains("`" + tool + "`"));
  }

  private void helps(String command) {
    List<String> words = new ArrayList<>(Arrays.asList(command.split(" ")));
    words.add("--help");
    Outcome help = desk.carrel(words.toArray(String[]::new));
    assertThat(help.code()).as(command + ": " + help.err()).isZero();
    assertThat(help.out()).as(command).startsWith("Usage: carrel ");
  }

  private List<String> tools() throws IOException {
    var names = new ArrayList<String>();
    String cursor = "";
    do {
      Outcome outcome =
          desk.carrelWith(
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
                  + cursor
                  + "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                  + "\"io.modelcontextprotocol/clientCapabilities\":{}}}}\n",
              "mcp",
              "--tools",
              "code,files,security,web,skills");
      assertThat(outcome.code()).as(outcome.err()).isZero();
      JsonNode result = JSON.readTree(outcome.out()).path("result");
      result.path("tools").forEach(tool -> names.add(tool.path("name").asText()));
      String next = result.path("nextCursor").asText();
      cursor = next.isEmpty() ? "" : "\"cursor\":\"" + next + "\",";
    } while (!cursor.isEmpty());
    return names;
  }

  @Test
  void everyNameRuns() {
    for (String command :
        List.of(
            "serve",
            "run",
            "queue status",
            "session list",
            "session kill",
            "config",
            "vault add",
            "vault list",
            "vault delete",
            "stats",
            "verify",
            "validate",
            "audit",
            "web search",
            "web fetch",
            "host exec",
            "host read",
            "host write",
            "host list",
            "host copy",
            "host access list",
            "host access request",
            "inspect",
            "artifacts",
            "bridge",
            "limits",
            "egress")) {
      helps(command);
    }
    Outcome browser = desk.carrel("web", "browser", "https://example.com/");
    assertThat(browser.code()).isEqualTo(2);
    assertThat(desk.carrel("web", "--help").out()).contains("There is no browser");
  }

  @Test
  void sessionsAreListedInspectedCountedAndKilled() {
    String id = done("session", "create", "-q", "--namespace", "names").strip();
    done("exec", id, "--", "echo", "hello");
    assertThat(done("session", "list")).contains(id);
    assertThat(done("stats")).containsPattern("running +[1-9]").contains("execution_waiting");
    assertThat(done("stats", "--json")).contains("\"memory_bytes\" : ");
    assertThat(done("queue", "status")).contains("execution");
    assertThat(desk.carrel("queue", "nonsense").code()).isEqualTo(2);
    assertThat(done("inspect", id)).contains(id, "namespace names", "echo hello", "budget: none");
    assertThat(done("inspect", id, "--json")).contains("\"contexts\"", "\"usage\"");
    assertThat(done("inspect", "names")).contains(id, "secrets: none");
    assertThat(done("bridge", id, "answer", "42", "--language", "bash")).isEmpty();
    assertThat(done("session", "kill", "--id", id)).isEqualTo(id + "\n");
    assertThat(done("session", "list")).doesNotContain(id);
  }

  @Test
  void aHostIsAskedForByItsName() {
    assertThat(done("egress", "a.example", "--namespace", "asking", "--json"))
        .contains("\"subject\" : \"a.example\"", "\"pending\"", "\"asking\"");
    assertThat(done("egress", "a.example", "--namespace", "empty", "--json")).contains("\"empty\"");
    assertThat(done("egress", "b.example", "--json"))
        .contains("\"subject\" : \"b.example\"", "\"default\"");
    Outcome mistyped = desk.carrel("egress", "sho");
    assertThat(mistyped.code()).isEqualTo(2);
    assertThat(mistyped.err()).contains("--namespace");
    assertThat(desk.carrel("egress").err()).contains("which one? ");
  }

  @Test
  void filesAreFoundByNameAndByWhatIsInThem() {
    String id = done("session", "create", "-q").strip();
    done("exec", id, "--", "sh", "-c", "mkdir d; printf 'one\nTwo\nthree\n' > d/a.py; touch d/b");
    assertThat(done("files", "glob", id, "**/*.py")).isEqualTo("/workspace/d/a.py\n");
    assertThat(done("files", "glob", id, "b", "d")).isEqualTo("/workspace/d/b\n");
    assertThat(done("files", "grep", id, "-i", "^two$", "d", "--glob", "*.py", "-C", "1"))
        .isEqualTo("/workspace/d/a.py-1-one\n/workspace/d/a.py:2:Two\n/workspace/d/a.py-3-three\n");
    assertThat(done("files", "grep", id, "-F", "Two", "--json")).contains("\"line\" : 2");
    assertThat(desk.carrel("files", "grep", id, "nowhere").code()).isEqualTo(1);
  }

  @Test
  void theRestDoesWhatItsNameSays() throws IOException {
    Path program = Files.writeString(folder.resolve("hello.sh"), "echo $((6*7))\n");
    assertThat(done("run", "--backend", "process", program.toString())).isEqualTo("42\n");
    assertThat(done("config")).contains("memory_mb");
    assertThat(done("limits", "--ram", "512", "--cpu", "1", "--processes", "256"))
        .contains("memory_mb");
    done("vault", "add", "NAMED", "a-value-of-some-length", "--namespace", "names");
    assertThat(done("vault", "list", "--namespace", "names")).contains("NAMED");
    done("vault", "delete", "NAMED", "--namespace", "names");
    assertThat(done("audit", "--limit", "5")).contains("secret");
    assertThat(desk.carrel("validate", program.toString(), "--no-auto-fix").code()).isZero();
    String digest = "0".repeat(64);
    assertThat(desk.carrel("verify", program.toString(), digest).code()).isEqualTo(1);
    assertThat(desk.carrel("host", "access", "list").err()).contains("host");
  }

  private String done(String... arguments) {
    Outcome outcome = desk.carrel(arguments);
    assertThat(outcome.code()).as(String.join(" ", arguments) + ": " + outcome.err()).isZero();
    return outcome.out();
  }
}
