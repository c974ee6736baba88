package dev.carrel.server.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import dev.carrel.server.mcp.McpClient;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class FileToolsTest {
  private static final String FACE = "\ud83d\ude00";

  private final LiveServer server;
  private final McpClient mcp;
  private String session = "";

  FileToolsTest(LiveServer server) {
    this.server = server;
    this.mcp = new McpClient(server);
  }

  @BeforeEach
  void begin() {
    session = server.sandboxId();
  }

  @AfterEach
  void end() {
    server.delete("/api/v1/sandboxes/" + session);
  }

  @Test
  void aFileIsWrittenReadAndEdited() {
    assertThat(write("a/b.txt", "one\ntwo\nthree\n"))
        .isEqualTo("File written successfully: /workspace/a/b.txt");
    assertThat(text("Read", "\"file_path\":\"a/b.txt\""))
        .isEqualTo("     1\tone\n     2\ttwo\n     3\tthree\n");
    assertThat(
            text("Edit", "\"file_path\":\"a/b.txt\",\"old_string\":\"two\",\"new_string\":\"2\""))
        .contains("File edited successfully", "-two\n+2\n", "@@ -1,3 +1,3 @@");
    assertThat(text("Read", "\"file_path\":\"/workspace/a/b.txt\",\"offset\":2,\"limit\":1"))
        .isEqualTo("     2\t2\n");
  }

  @Test
  void lowerCaseNamesWorkToo() {
    write("x", "y");
    assertThat(text("read", "\"file_path\":\"x\"")).isEqualTo("     1\ty\n");
    assertThat(text("bash", "\"command\":\"cat x\"")).isEqualTo("y");
  }

  @Test
  void anEmptyFileAndAnOffsetPastTheEndAreTold() {
    write("empty", "");
    assertThat(text("Read", "\"file_path\":\"empty\"")).contains("contents are empty");
    write("short", "1\n2\n");
    assertThat(text("Read", "\"file_path\":\"short\",\"offset\":9")).contains("it has 2 lines");
  }

  @Test
  void aBinaryFileIsNotPouredOut() {
    text("Bash", "\"command\":\"printf 'a\\\\0b' > bin\"");
    assertThat(error("Read", "\"file_path\":\"bin\"")).contains("is not text (3 bytes)");
  }

  @Test
  void anImageComesAsAnImage() {
    text(
        "Bash",
        "\"command\":\"echo iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg== | base64 -d > p.png\"");
    JsonNode result = mcp.call("Read", arguments("\"file_path\":\"p.png\""));
    assertThat(result.at("/content/0/type").asText()).isEqualTo("image");
    assertThat(result.at("/content/0/data").asText()).startsWith("iVBORw0KGgo");
  }

  @Test
  void anEditThatFitsTwiceSaysHowOftenAndWhere() {
    write("t", "a\nb\na\n");
    assertThat(error("Edit", "\"file_path\":\"t\",\"old_string\":\"a\",\"new_string\":\"c\""))
        .contains("found 2 times, at lines 1, 3");
    assertThat(
            text(
                "Edit",
                "\"file_path\":\"t\",\"old_string\":\"a\",\"new_string\":\"c\",\"replace_all\":true"))
        .contains("+c");
    assertThat(text("Bash", "\"command\":\"cat t\"")).isEqualTo("c\nb\nc\n");
  }

  @Test
  void anEditOfNothingIsRefused() {
    write("t", "a");
    assertThat(error("Edit", "\"file_path\":\"t\",\"old_string\":\"\",\"new_string\":\"c\""))
        .contains("old_string: must not be empty");
    assertThat(error("Edit", "\"file_path\":\"t\",\"old_string\":\"a\",\"new_string\":\"a\""))
        .contains("old_string and new_string must be different");
    assertThat(error("Edit", "\"file_path\":\"t\",\"old_string\":\"z\",\"new_string\":\"a\""))
        .contains("old_string not found in file");
  }

  @Test
  void severalEditsAreMadeTogetherOrNotAtAll() {
    write("t", "a b c\n");
    assertThat(
            error(
                "Edit",
                "\"file_path\":\"t\",\"edits\":[{\"old_string\":\"a\",\"new_string\":\"1\"},"
                    + "{\"old_string\":\"z\",\"new_string\":\"2\"}]"))
        .contains("not found");
    assertThat(text("Bash", "\"command\":\"cat t\"")).isEqualTo("a b c\n");
    text(
        "Edit",
        "\"file_path\":\"t\",\"edits\":[{\"old_string\":\"a\",\"new_string\":\"1\"},"
            + "{\"old_string\":\"1 b\",\"new_string\":\"2\"}]");
    assertThat(text("Bash", "\"command\":\"cat t\"")).isEqualTo("2 c\n");
  }

  @Test
  void anEditKeepsTheModeOfTheFile() {
    text("Bash", "\"command\":\"printf 'echo old' > run && chmod 750 run\"");
    text("Edit", "\"file_path\":\"run\",\"old_string\":\"old\",\"new_string\":\"new\"");
    assertThat(text("Bash", "\"command\":\"stat -c %a run && ./run\"")).isEqualTo("750\nnew\n");
  }

  @Test
  void filesAreFoundByPatternNewestFirst() {
    text(
        "Bash",
        "\"command\":\"mkdir -p d/e; touch -d 2020-01-01 d/old.py; touch -d 2021-01-01 d/e/new.py; touch d/x.txt\"");
    assertThat(text("Glob", "\"pattern\":\"**/*.py\""))
        .isEqualTo("/workspace/d/e/new.py\n/workspace/d/old.py");
    assertThat(text("Glob", "\"pattern\":\"*.zip\""))
        .isEqualTo("No files found matching pattern: *.zip");
  }

  @Test
  void searchesFindWhatIsNewAndLeaveOutWhatGitIgnores() {
    text(
        "Bash",
        """
        "command":"mkdir -p node_modules new; for i in $(seq 60); do \
        printf 'find me\\nfind me\\n' > node_modules/$i.py; done; \
        touch -d 2020-01-01 node_modules/*; echo 'find me' > new/latest.py"\
        """);
    assertThat(text("Grep", "\"pattern\":\"find me\""))
        .startsWith("Found 100 matches\n/workspace/new/latest.py:\n  Line 1: find me\n");
    write(".gitignore", "# made\nnode_modules/\n");
    assertThat(text("Grep", "\"pattern\":\"find me\""))
        .isEqualTo("Found 1 matches\n/workspace/new/latest.py:\n  Line 1: find me");
    assertThat(text("Glob", "\"pattern\":\"**/*.py\"")).isEqualTo("/workspace/new/latest.py");
    assertThat(text("Glob", "\"pattern\":\"*/7.py\",\"respect_gitignore\":false"))
        .isEqualTo("/workspace/node_modules/7.py");
    assertThat(text("Grep", "\"pattern\":\"find me\",\"path\":\"node_modules\",\"glob\":\"7.py\""))
        .startsWith("Found 2 matches");
    assertThat(
            text(
                "Grep",
                "\"pattern\":\"find me\",\"respect_gitignore\":false,\"output_mode\":\"count\""))
        .contains("/workspace/node_modules/7.py:2");
  }

  @Test
  void linesAreFoundWithTheirNumbers() {
    write("a.py", "import os\nprint(1)\n");
    write("b.txt", "print(2)\n");
    assertThat(text("Grep", "\"pattern\":\"^print\",\"glob\":\"*.py\""))
        .isEqualTo("Found 1 matches\n/workspace/a.py:\n  Line 2: print(1)");
    assertThat(
            text(
                "Grep",
                "\"pattern\":\"PRINT\",\"case_insensitive\":true,\"output_mode\":\"files_only\""))
        .contains("/workspace/a.py", "/workspace/b.txt");
    assertThat(text("Grep", "\"pattern\":\"print\",\"output_mode\":\"count\",\"path\":\"b.txt\""))
        .isEqualTo("/workspace/b.txt:1");
    assertThat(text("Grep", "\"pattern\":\"nowhere\"")).isEqualTo("No matches found");
  }

  @Test
  void aCommandThatFailsIsAnErrorWithItsOutput() {
    assertThat(error("Bash", "\"command\":\"echo before; exit 7\""))
        .isEqualTo("before\n\nExit code 7");
  }

  @Test
  void aCommandThatTakesTooLongKeepsWhatItWrote() {
    assertThat(error("Bash", "\"command\":\"echo begun; sleep 60 | cat\",\"timeout_ms\":1500"))
        .contains("begun", "<bash_metadata>\ncommand timed out after 1500ms\n</bash_metadata>");
  }

  @Test
  void longOutputIsCutAndSaysSo() {
    assertThat(text("Bash", "\"command\":\"seq 50000\""))
        .hasSizeLessThan(35_000)
        .contains("\n1000\n\n...48000 lines", "truncated", "\n\n49001\n49002\n")
        .endsWith("\n50000\n");
    // What comes at once by two pipes may be read in either order.
    String late = "\"command\":\"seq 50000; sleep 1; echo no such thing >&2; exit 3\"";
    assertThat(error("Bash", late)).endsWith("\n50000\nno such thing\n\nExit code 3");
  }

  @Test
  void noCharacterIsHalvedWhereALineIsCut() {
    write("found", "a".repeat(1999) + FACE + "b\n");
    assertThat(text("Grep", "\"pattern\":\"aaa\"")).endsWith("a".repeat(1999) + "...");
    write("read", "a".repeat(19_999) + FACE + "b\n");
    assertThat(text("Read", "\"file_path\":\"read\""))
        .endsWith("\t" + "a".repeat(19_999) + "...\n");
  }

  @Test
  void noCharacterIsHalvedWhereProgressIsCut() {
    write("long", "a".repeat(8191) + FACE + "b".repeat(8191) + FACE);
    McpClient.Answer answer =
        mcp.modern(
            "tools/call",
            "{\"name\":\"Bash\",\"arguments\":%s,\"_meta\":{\"progressToken\":1}}"
                .formatted(arguments("\"command\":\"cat long\"")));
    List<String> told =
        answer.messages().stream()
            .filter(message -> message.path("method").asText().equals("notifications/progress"))
            .map(message -> message.at("/params/message").asText())
            .toList();
    assertThat(told)
        .isNotEmpty()
        .allMatch(
            part -> part.codePoints().allMatch(c -> Character.getType(c) != Character.SURROGATE));
    assertThat(String.join("", told)).hasSize(2 * 8193);
  }

  @Test
  void aCommandInTheBackgroundWritesToAFile() {
    String said = text("Bash", "\"command\":\"echo done\",\"run_in_background\":true");
    assertThat(said)
        .contains("Command started in background (PID: ", "Output file: /workspace/.logs/");
    String file =
        said.lines()
            .filter(line -> line.startsWith("Output file: "))
            .findFirst()
            .orElseThrow()
            // From the workspace, which this engine has elsewhere.
            .substring("Output file: /workspace/".length());
    dev.carrel.server.Eventually.until(
        "the output is in the file",
        () ->
            mcp.call("Bash", arguments("\"command\":\"cat " + file + "\""))
                .at("/content/0/text")
                .asText()
                .equals("done\n"));
  }

  @Test
  void withoutASessionTheUsualSandboxIsUsed() {
    mcp.text("Write", "{\"file_path\":\"mine\",\"content\":\"x\"}");
    assertThat(mcp.text("Bash", "{\"command\":\"cat mine\"}")).isEqualTo("x");
    assertThat(error("Read", "\"file_path\":\"mine\"")).contains("mine");
  }

  @Test
  void aFolderWithMoreThanIsNamedSaysSo() {
    text("Bash", "\"command\":\"mkdir many && cd many && seq 1000 | xargs touch\"");
    assertThat(folder("many")).hasSize(1000).noneMatch(line -> line.startsWith("#"));
    text("Bash", "\"command\":\"touch many/more\"");
    assertThat(folder("many")).hasSize(1001).last().isEqualTo("# there are more");
  }

  private List<String> folder(String name) {
    String uri = "carrel://sandboxes/" + session + "/files/workspace/" + name;
    return mcp.modern("resources/read", "{\"uri\":\"" + uri + "\"}")
        .result()
        .at("/contents/0/text")
        .asText()
        .lines()
        .toList();
  }

  private String write(String path, String content) {
    return text(
        "Write", "\"file_path\":\"%s\",\"content\":%s".formatted(path, McpClient.quoted(content)));
  }

  private String text(String tool, String fields) {
    return mcp.text(tool, arguments(fields));
  }

  private String error(String tool, String fields) {
    return mcp.error(tool, arguments(fields));
  }

  private String arguments(String fields) {
    return "{\"session_id\":\"%s\",%s}".formatted(session, fields);
  }
}
