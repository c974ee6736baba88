package dev.carrel.server.flat;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.control.web.Fetched;
import dev.carrel.server.http.Json;
import java.net.URI;
import org.junit.jupiter.api.Test;

class WebRoutesTest {
  private static final URI PAGE = URI.create("https://example.com/page");

  @Test
  void aPageThatIsMissingOrCutSaysSo() {
    JsonNode missing = told(404, false);
    assertThat(missing.at("/code").asInt(-1)).isZero();
    assertThat(missing.at("/data/status").asInt()).isEqualTo(404);
    assertThat(missing.at("/data").has("truncated")).isFalse();
    JsonNode cut = told(200, true);
    assertThat(cut.at("/data/status").asInt()).isEqualTo(200);
    assertThat(cut.at("/data/truncated").asBoolean()).isTrue();
  }

  private static JsonNode told(int status, boolean cut) {
    return Json.tree(
        WebRoutes.told(new Fetched(PAGE, status, null, "text/html", "T", "words", cut, false)));
  }
}
