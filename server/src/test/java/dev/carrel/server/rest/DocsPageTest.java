package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The script of the page, run by Node with as much of a browser as it uses. */
@Timeout(60)
class DocsPageTest {
  @Test
  void whatGoesWrongIsSaidOnThePage() throws Exception {
    assertThat(page("throw new TypeError('fetch failed')", "t"))
        .isEqualTo(
            "[\"No answer from the server: fetch failed. See whether it still runs.\",null,false]");
    assertThat(page("return new Response('<html>', { status: 502 })", "t"))
        .contains("status 502", "null,false");
    assertThat(page("return Response.json({ detail: 'no such token' }, { status: 401 })", "t"))
        .isEqualTo("[\"no such token\",null,false]");
    assertThat(page("throw new Error('was asked')", "t\u2026")).contains("no token", "null,false");
  }

  @Test
  void whatWentWrongBeforeIsForgotten() throws Exception {
    assertThat(page("return Response.json({ a: 1 })", "t")).isEqualTo("[\"\",{\"a\":1},false]");
  }

  private static String page(String fetch, String token) throws Exception {
    String script = new String(Resources.bytes("docs/start.js"), StandardCharsets.UTF_8);
    String page =
        """
        const parts = {};
        const part = (id) => (parts[id] ??= {
          value: 'a-token', textContent: 'old', classList: { add: (name) => (parts[id].hidden = name) },
          addEventListener: (_, listener) => (parts[id].submit = listener),
          querySelector: () => part('button'),
        });
        globalThis.document = { getElementById: part };
        globalThis.SwaggerUIBundle = (given) => (parts.shown = given.spec);
        globalThis.fetch = async () => { %s };
        part('token').value = '%s';
        %s
        part('ask').submit({ preventDefault() {} }).then(() =>
          console.log(JSON.stringify([part('problem').textContent, parts.shown ?? null, part('button').disabled])));
        """
            .formatted(fetch, token, script);
    Process node = new ProcessBuilder("node", "-e", page).redirectErrorStream(true).start();
    String said = new String(node.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(node.waitFor(30, TimeUnit.SECONDS)).isTrue();
    return said.strip();
  }
}
