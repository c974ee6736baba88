package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.ExtendWith;

/** Every route, held against what a caller can get wrong. */
@ExtendWith(SharedServer.class)
class BadInputTest {
  private static final String NO_SANDBOX = "/api/v1/sandboxes/sbaaaaaaaaaaaaaa";
  private static final String NO_EXEC = "/execs/exaaaaaaaaaaaaaa";
  private static final String NO_CONTEXT = "/contexts/cxaaaaaaaaaaaaaa";

  private static final String VALID =
      """
      {"command":"true","code":"1","language":"python","path":"a","from":"a","to":"b","pattern":"a",
       "signal":15,"rows":1,"cols":1,"snapshot_id":"snaaaaaaaaaaaaaa","manager":"pip","packages":["six"],"skill_ids":["x"],
       "name":"a","paths":["a"],"files":[{"file_name":"a","file_content":"b"}]}
      """;

  private final LiveServer server;

  BadInputTest(LiveServer server) {
    this.server = server;
  }

  private record Case(String method, String path, String body, int status, String field) {}

  private static Case post(String path, String body, String field) {
    return new Case("POST", path, body, 422, field);
  }

  private static Case get(String path, String field) {
    return new Case("GET", path, "", 422, field);
  }

  private static final List<Case> SANDBOXES =
      List.of(
          post("", "{\"memory_mb\":\"512\"}", "memory_mb"),
          post("", "{\"memory_mb\":1.5}", "memory_mb"),
          post("", "{\"memory_mb\":0}", "memory_mb"),
          post("", "{\"memory_mb\":15}", "memory_mb"),
          post("", "{\"memory_mb\":99999999999999999999}", "memory_mb"),
          post("", "{\"memory_mb\":2000000000}", "memory_mb"),
          post("", "{\"cpu_cores\":-1}", "cpu_cores"),
          post("", "{\"cpu_cores\":\"1\"}", "cpu_cores"),
          post("", "{\"cpu_cores\":1e999}", "cpu_cores"),
          post("", "{\"disk_mb\":0}", "disk_mb"),
          post("", "{\"disk_mb\":[]}", "disk_mb"),
          post("", "{\"pids\":1}", "pids"),
          post("", "{\"pids\":3000000000}", "pids"),
          post("", "{\"idle_timeout_seconds\":-1}", "idle_timeout_seconds"),
          post("", "{\"network_enabled\":\"yes\"}", "network_enabled"),
          post("", "{\"env_vars\":{\"A\":1}}", "env_vars"),
          post("", "{\"env_vars\":[\"A=1\"]}", "env_vars"),
          post("", "{\"env_vars\":{\"A=B\":\"1\"}}", "env_vars"),
          post("", "{\"env_vars\":{\"A\":\"a\\u0000b\"}}", "env_vars"),
          post("", "{\"metadata\":\"x\"}", "metadata"),
          post("", "{\"session_key\":7}", "session_key"),
          post("", "{\"namespace\":7}", "namespace"),
          post("", "{\"namespace\":\"../x\"}", "namespace"),
          post("", "{\"image\":7}", "image"),
          post("", "{\"image\":\"no-such-image\"}", ""),
          post("", "{\"engine\":\"no-such-engine\"}", ""),
          post("", "{\"isolation\":\"strong\"}", "isolation"),
          post("", "{\"isolation\":\"gvisor\"}", ""),
          post("", "[]", "body"),
          post("", "\"text\"", "body"),
          new Case("POST", "", "{", 400, "body"),
          new Case("POST", "", "{\"a\":" + "[".repeat(1000) + "}", 400, "body"),
          new Case("POST", "", "{\"a\":1,\"a\":2}", 400, "body"),
          new Case("POST", "", "\0\0\0{\0\0", 400, "body"),
          get("?page=0", "page"),
          get("?page=x", "page"),
          get("?page_size=201", "page_size"),
          get("?page_size=-1", "page_size"),
          get("?status=asleep", "status"),
          get("?sort_by=size", "sort_by"),
          get("?sort_order=up", "sort_order"),
          get("?search=" + "x".repeat(300), "search"),
          new Case("GET", "?search=%ff", "", 400, "search"));

  private static final List<Case> OF_A_SANDBOX =
      List.of(
          new Case("PATCH", "", "{\"memory_mb\":\"x\"}", 422, "memory_mb"),
          new Case("PATCH", "", "{\"idle_timeout_seconds\":1.5}", 422, "idle_timeout_seconds"),
          new Case("PATCH", "", "nope", 400, "body"),
          new Case("PUT", "/budget", "", 422, "body"),
          new Case("PUT", "/egress", "", 422, "body"),
          post("/exec", "{}", "command"),
          post("/exec", "{\"command\":\"\"}", "command"),
          post("/exec", "{\"command\":[]}", "command"),
          post("/exec", "{\"command\":[\"\"]}", "command"),
          post("/exec", "{\"command\":[\"a\",1]}", "command"),
          post("/exec", "{\"command\":{\"a\":1}}", "command"),
          post("/exec", "{\"command\":\"a\\u0000b\"}", "command"),
          post("/exec", "{\"command\":\"\\ud800\"}", "command"),
          post("/exec", "{\"command\":\"true\",\"timeout_seconds\":0}", "timeout_seconds"),
          post("/exec", "{\"command\":\"true\",\"timeout_seconds\":-3}", "timeout_seconds"),
          post("/exec", "{\"command\":\"true\",\"timeout_seconds\":\"9\"}", "timeout_seconds"),
          post("/exec", "{\"command\":\"true\",\"timeout_seconds\":1e12}", "timeout_seconds"),
          post("/exec", "{\"command\":\"true\",\"timeout_seconds\":100000}", "timeout_seconds"),
          post("/exec", "{\"command\":\"true\",\"cwd\":\"relative\"}", "cwd"),
          post("/exec", "{\"command\":\"true\",\"cwd\":7}", "cwd"),
          post("/exec", "{\"command\":\"true\",\"env\":{\"\":\"1\"}}", "env"),
          post("/exec", "{\"command\":\"true\",\"env\":\"A=1\"}", "env"),
          post("/exec", "{\"command\":\"true\",\"stdin\":7}", "stdin"),
          post("/exec", "{\"command\":\"true\",\"stdin\":\"\",\"stdin_open\":true}", "stdin_open"),
          post("/exec", "{\"command\":\"true\",\"background\":\"yes\"}", "background"),
          post("/exec", "{\"command\":\"true\",\"terminal\":true}", "terminal"),
          post(
              "/exec",
              "{\"command\":\"true\",\"terminal\":{\"rows\":0,\"cols\":80}}",
              "terminal.rows"),
          post("/exec", "{\"command\":\"true\",\"terminal\":{\"rows\":24}}", "terminal.cols"),
          post("/exec?encoding=latin1", "{\"command\":\"true\"}", "encoding"),
          post("/code", "{}", "code"),
          post("/code", "{\"code\":\"\"}", "code"),
          post("/code", "{\"code\":7}", "code"),
          post("/code", "{\"code\":\"1\",\"language\":\"cobol\"}", "language"),
          post("/code", "{\"code\":\"1\",\"language\":1}", "language"),
          post("/code", "{\"code\":\"1\",\"timeout_seconds\":0}", "timeout_seconds"),
          post("/code", "{\"code\":\"1\",\"timeout_seconds\":1e7}", "timeout_seconds"),
          new Case("POST", "/code", "{\"code\":\"1\",\"context_id\":\"nope\"}", 404, ""),
          new Case(
              "POST", "/code", "{\"code\":\"1\",\"context_id\":\"cxaaaaaaaaaaaaaa\"}", 404, ""),
          post("/contexts", "{}", "language"),
          post("/contexts", "{\"language\":\"\"}", "language"),
          post("/contexts", "{\"language\":\"cobol\"}", "language"),
          post("/contexts", "{\"language\":\"bash\",\"env\":{\"A\":null}}", "env"),
          new Case("GET", NO_CONTEXT, "", 404, ""),
          new Case("GET", "/contexts/..", "", 404, ""),
          new Case("DELETE", NO_CONTEXT, "", 404, ""),
          new Case("POST", NO_CONTEXT + "/interrupt", "", 404, ""),
          new Case("POST", NO_CONTEXT + "/restart", "", 404, ""),
          new Case("GET", NO_EXEC, "", 404, ""),
          new Case("GET", "/execs/%00", "", 404, ""),
          new Case("GET", NO_EXEC + "/output", "", 404, ""),
          get(NO_EXEC + "/output?from=-1", "from"),
          get(NO_EXEC + "/output?from=x", "from"),
          get(NO_EXEC + "/output?encoding=x", "encoding"),
          new Case("POST", NO_EXEC + "/signal", "{\"signal\":15}", 404, ""),
          post(NO_EXEC + "/signal", "{}", "signal"),
          post(NO_EXEC + "/signal", "{\"signal\":0}", "signal"),
          post(NO_EXEC + "/signal", "{\"signal\":65}", "signal"),
          post(NO_EXEC + "/signal", "{\"signal\":\"SIGNOPE\"}", "signal"),
          post(NO_EXEC + "/signal", "{\"signal\":9,\"scope\":\"world\"}", "scope"),
          new Case("POST", NO_EXEC + "/stdin", "{\"data\":\"x\"}", 404, ""),
          post(NO_EXEC + "/stdin", "{\"data\":7}", "data"),
          post(NO_EXEC + "/stdin", "{\"base64\":\"?\"}", "base64"),
          post(NO_EXEC + "/stdin", "{\"base64\":\"\",\"data\":\"\"}", "base64"),
          post(NO_EXEC + "/stdin", "{\"eof\":1}", "eof"),
          new Case("POST", NO_EXEC + "/resize", "{\"rows\":1,\"cols\":1}", 404, ""),
          post(NO_EXEC + "/resize", "{}", "rows"),
          post(NO_EXEC + "/resize", "{\"rows\":1,\"cols\":1001}", "cols"),
          get("/files?path=a/../../b", "path"),
          get("/files?path=a%00b", "path"),
          get("/files?depth=0", "depth"),
          get("/files?limit=0", "limit"),
          new Case("GET", "/files?path=%ff", "", 400, "path"),
          new Case("GET", "/files?path=absent", "", 404, ""),
          new Case("GET", "/files/absent", "", 404, ""),
          get("/files/absent?disposition=evil", "disposition"),
          new Case("PUT", "/files/a?mode=999", "x", 422, "mode"),
          new Case("PUT", "/files/a?mode=4755", "x", 422, "mode"),
          new Case("PUT", "/files/a?append=maybe", "x", 422, "append"),
          new Case("DELETE", "/files/absent", "", 404, ""),
          new Case("DELETE", "/files/absent?recursive=si", "", 422, "recursive"),
          post("/fs/stat", "{}", "path"),
          post("/fs/stat", "{\"path\":\"../x\"}", "path"),
          post("/fs/stat", "{\"path\":[]}", "path"),
          post("/fs/stat", "{\"path\":\"" + "x".repeat(5000) + "\"}", "path"),
          new Case("POST", "/fs/stat", "{\"path\":\"absent\"}", 404, ""),
          post("/fs/mkdir", "{\"path\":\"\"}", "path"),
          post("/fs/mkdir", "{\"path\":\"a\",\"parents\":1}", "parents"),
          post("/fs/move", "{\"from\":\"a\"}", "to"),
          post("/fs/move", "{\"from\":\"a\",\"to\":\"../b\"}", "to"),
          new Case("POST", "/fs/move", "{\"from\":\"absent\",\"to\":\"b\"}", 404, ""),
          post("/fs/copy", "{\"to\":\"a\"}", "from"),
          post("/fs/copy", "{\"from\":\"a\",\"to\":\"b\",\"overwrite\":\"no\"}", "overwrite"),
          new Case("POST", "/fs/copy", "{\"from\":\"absent\",\"to\":\"b\"}", 404, ""),
          post("/fs/glob", "{}", "pattern"),
          post("/fs/glob", "{\"pattern\":\"*\",\"limit\":0}", "limit"),
          post("/fs/glob", "{\"pattern\":\"*\",\"hidden\":\"x\"}", "hidden"),
          post("/fs/grep", "{}", "pattern"),
          post("/fs/grep", "{\"pattern\":\"a\",\"context\":-1}", "context"),
          post("/fs/grep", "{\"pattern\":\"a\",\"limit\":0}", "limit"),
          post("/fs/grep", "{\"pattern\":\"a\",\"glob\":1}", "glob"),
          get("/fs/watch?recursive=x", "recursive"),
          new Case("GET", "/fs/watch?path=absent", "", 404, ""));

  @TestFactory
  Stream<DynamicTest> sandboxes() {
    return SANDBOXES.stream().map(one -> test("/api/v1/sandboxes", one));
  }

  @TestFactory
  Stream<DynamicTest> everythingInASandbox() {
    String sandbox = server.sandbox();
    return OF_A_SANDBOX.stream().map(one -> test(sandbox, one));
  }

  @Test
  void grepRefusesAPatternThatIsNone() {
    Answer answer = server.post(server.sandbox() + "/fs/grep", "{\"pattern\":\"(\"}");
    assertThat(answer.status()).as(answer.text()).isEqualTo(422);
  }

  @TestFactory
  Stream<DynamicTest> anUnknownSandboxIsNotFoundEverywhere() {
    return server.description().operations().stream()
        .filter(operation -> operation.contains("/{id}"))
        .map(
            operation ->
                DynamicTest.dynamicTest(
                    operation,
                    () -> {
                      String method = operation.substring(0, operation.indexOf(' '));
                      String path =
                          operation
                              .substring(operation.indexOf(' ') + 1)
                              .replace("/api/v1/sandboxes/{id}", NO_SANDBOX)
                              .replace("{eid}", "exaaaaaaaaaaaaaa")
                              .replace("{cid}", "cxaaaaaaaaaaaaaa")
                              .replace("{xid}", "xpaaaaaaaaaaaaaa")
                              .replace("{uid}", "upaaaaaaaaaaaaaa")
                              .replace("{port}", "8000")
                              .replace("{path}", "a");
                      assertThat(send(method, path, VALID).status()).isEqualTo(404);
                      assertThat(
                              send(method, path.replace("sbaaaaaaaaaaaaaa", "..%2f"), VALID)
                                  .status())
                          .isEqualTo(404);
                    }));
  }

  private DynamicTest test(String base, Case one) {
    String name = one.method + " " + one.path + " " + one.body;
    return DynamicTest.dynamicTest(
        name.substring(0, Math.min(100, name.length())),
        () -> {
          Answer answer = send(one.method, base + one.path, one.body);
          assertThat(answer.status()).as(answer.text()).isEqualTo(one.status);
          assertThat(answer.header("Content-Type")).isEqualTo("application/problem+json");
          assertThat(answer.text()).doesNotContain("Exception", "\\tat ", "dev.carrel");
          if (!one.field.isEmpty()) {
            assertThat(answer.field()).as(answer.text()).isEqualTo(one.field);
            assertThat(answer.code()).isEqualTo("invalid_input");
          }
        });
  }

  private Answer send(String method, String path, String body) {
    HttpRequest.Builder request = server.request(method, path, BodyPublishers.ofString(body));
    if (path.contains("/uploads")) {
      request
          .header("Tus-Resumable", "1.0.0")
          .header("Upload-Length", "1")
          .header("Upload-Offset", "0")
          .header("Upload-Metadata", "path YQ==")
          .header("Content-Type", "application/offset+octet-stream");
    }
    return server.send(request.build());
  }
}
