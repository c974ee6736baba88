package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.Control;
import dev.carrel.control.files.Edits;
import dev.carrel.control.files.FileEntry;
import dev.carrel.control.files.FileListing;
import dev.carrel.control.files.Grep;
import dev.carrel.control.files.TextEdit;
import dev.carrel.control.files.WriteFile;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Content;
import dev.carrel.server.mcp.Tool;
import dev.carrel.server.mcp.ToolResult;
import dev.carrel.spi.SandboxException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The set {@code files}: a shell and the files of the caller's sandbox. */
final class FileTools {
  private static final int MAX_FOUND = 100;
  private static final int MAX_LINE = 2000;
  private static final int MAX_CONTEXT = 20;
  private static final String WHERE =
      "\"session_id\":{\"type\":\"string\",\"minLength\":1,\"description\":"
          + "\"A session; left out: your usual sandbox\"}";

  private final Control control;
  private final Sessions sessions;
  private final List<Tool> tools = new ArrayList<>();

  private FileTools(Control control, Sessions sessions) {
    this.control = control;
    this.sessions = sessions;
  }

  static List<Tool> of(Control control, Sessions sessions) {
    var all = new FileTools(control, sessions);
    var shell = new ShellTool(control, sessions);
    all.add(
        "Bash",
        "Run a command",
        shell.description(),
        Tool.Effect.CHANGE,
        shell.input(),
        shell::run);
    all.addSearches();
    all.addFiles();
    return List.copyOf(all.tools);
  }

  private void add(
      String name,
      String title,
      String description,
      Tool.Effect effect,
      String properties,
      CodeTool.Body body) {
    ObjectNode schema =
        Schemas.of("{\"type\":\"object\",\"properties\":{" + properties + "," + WHERE + "}}");
    var required = schema.putArray("required");
    for (Map.Entry<String, JsonNode> property : schema.get("properties").properties()) {
      if (((ObjectNode) property.getValue()).remove("needed") != null) {
        required.add(property.getKey());
      }
    }
    tools.add(new FileTool(new Tool.About(name, title, description, schema, null, effect), body));
  }

  private void addSearches() {
    add(
        "Glob",
        "Find files",
        """
        Finds files by the pattern of their path, for example src/**/*.py; newest first, at most \
        100. Hidden files only when the pattern names them; what .gitignore names only with \
        respect_gitignore false, or below a path that it names.\
        """,
        Tool.Effect.READ,
        """
        "pattern":{"type":"string","minLength":1,"needed":true},
        "path":{"type":"string","minLength":1,"description":"Folder; default /workspace"},
        "respect_gitignore":{"type":"boolean","default":true}\
        """,
        this::glob);
    add(
        "Grep",
        "Search in files",
        """
        Finds lines by a regular expression (POSIX extended) in a file or in all files of a folder; \
        files that changed last come first, at most 100 matches. What .gitignore names is searched \
        only with respect_gitignore false, or below a path that it names.\
        """,
        Tool.Effect.READ,
        """
        "pattern":{"type":"string","minLength":1,"needed":true},
        "path":{"type":"string","minLength":1,"description":"File or folder; default /workspace"},
        "glob":{"type":"string","minLength":1,"description":"Which files, for example *.py"},
        "case_insensitive":{"type":"boolean","default":false},
        "context_lines":{"type":"integer","minimum":0,"maximum":20,"default":0},
        "output_mode":{"type":"string","enum":["content","files_only","count"],"default":"content"},
        "respect_gitignore":{"type":"boolean","default":true}\
        """,
        this::grep);
  }

  private void addFiles() {
    add(
        "Read",
        "Read a file",
        """
        Reads a file with line numbers: 2000 lines from offset on. Images and PDFs come as what they \
        are.\
        """,
        Tool.Effect.READ,
        """
        "file_path":{"type":"string","minLength":1,"needed":true},
        "offset":{"type":"integer","minimum":1,"default":1,"description":"First line"},
        "limit":{"type":"integer","minimum":1,"maximum":20000,"default":2000,"description":"Lines"}\
        """,
        call -> new FileReading(control, call.caller(), sessions.named(call)).read(call));
    add(
        "Write",
        "Write a file",
        "Writes a whole file; folders on the way are made, a file that is there is replaced.",
        Tool.Effect.CHANGE,
        """
        "file_path":{"type":"string","minLength":1,"needed":true},
        "content":{"type":"string","needed":true}\
        """,
        this::write);
    add(
        "Edit",
        "Edit a file",
        """
        Replaces old_string by new_string in a file. old_string must be there exactly once, as it is \
        in the file, or set replace_all. Several changes at once go in edits: all are made, or none. \
        Answers with a diff.\
        """,
        Tool.Effect.CHANGE,
        """
        "file_path":{"type":"string","minLength":1,"needed":true},
        "old_string":{"type":"string"},
        "new_string":{"type":"string"},
        "replace_all":{"type":"boolean","default":false},
        "edits":{"type":"array","minItems":1,"maxItems":200,"items":{"type":"object",
          "required":["old_string","new_string"],"properties":{
            "old_string":{"type":"string"},"new_string":{"type":"string"},
            "replace_all":{"type":"boolean","default":false}}}}\
        """,
        this::edit);
  }

  private ToolResult glob(Call call) throws InterruptedException {
    String pattern = call.text("pattern");
    FileListing found =
        control
            .files()
            .glob(
                call.caller(),
                sessions.named(call),
                folder(call),
                pattern,
                MAX_FOUND,
                pattern.startsWith(".") || pattern.contains("/."),
                gitignore(call));
    if (found.entries().isEmpty()) {
      return ToolResult.text("No files found matching pattern: " + pattern);
    }
    String paths = found.entries().stream().map(FileEntry::path).collect(Collectors.joining("\n"));
    return ToolResult.text(
        found.truncated()
            ? paths + "\n(only the newest " + MAX_FOUND + "; narrow the pattern to see others)"
            : paths);
  }

  private static boolean gitignore(Call call) {
    return call.arguments().path("respect_gitignore").asBoolean(true);
  }

  private static String folder(Call call) {
    return call.arguments().path("path").asText(Sandbox.WORKSPACE);
  }

  private ToolResult grep(Call call) throws InterruptedException {
    JsonNode arguments = call.arguments();
    String mode = arguments.path("output_mode").asText("content");
    Grep.Result found =
        control
            .files()
            .grep(
                call.caller(),
                sessions.named(call),
                new Grep(
                        folder(call),
                        call.text("pattern"),
                        arguments.path("glob").textValue(),
                        arguments.path("case_insensitive").asBoolean(false),
                        false,
                        false,
                        Math.min(MAX_CONTEXT, arguments.path("context_lines").asInt(0)),
                        mode.equals("content") ? MAX_FOUND : Integer.MAX_VALUE)
                    .withGitignore(gitignore(call)));
    return ToolResult.text(GrepText.of(found, mode, MAX_LINE));
  }

  private ToolResult write(Call call) throws IOException, InterruptedException {
    byte[] content = call.text("content").getBytes(StandardCharsets.UTF_8);
    FileEntry written =
        control
            .files()
            .write(
                call.caller(),
                sessions.named(call),
                call.text("file_path"),
                new ByteArrayInputStream(content),
                WriteFile.plain().withSize((long) content.length));
    return ToolResult.text("File written successfully: " + written.path());
  }

  private ToolResult edit(Call call) throws InterruptedException {
    JsonNode arguments = call.arguments();
    var edits = new ArrayList<TextEdit>();
    if (arguments.has("edits")) {
      if (arguments.has("old_string") || arguments.has("new_string")) {
        throw SandboxException.invalid("edits", "cannot go with old_string and new_string");
      }
      arguments.get("edits").forEach(edit -> edits.add(textEdit(edit)));
    } else {
      edits.add(textEdit(arguments));
    }
    Edits.Edited edited =
        control.edits().edit(call.caller(), sessions.named(call), call.text("file_path"), edits);
    ObjectNode structured =
        Schemas.object()
            .put("file_path", edited.entry().path())
            .put("replacements", edited.replaced())
            .put("diff", edited.diff());
    return new ToolResult(
        List.of(Content.text("File edited successfully\n" + edited.diff())), structured, false);
  }

  private static TextEdit textEdit(JsonNode edit) {
    return new TextEdit(
        required(edit, "old_string"),
        required(edit, "new_string"),
        edit.path("replace_all").asBoolean(false));
  }

  private static String required(JsonNode edit, String name) {
    @Nullable String text = edit.path(name).textValue();
    if (text == null) {
      throw SandboxException.invalid(name, "is required");
    }
    return text;
  }

  static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }
}
