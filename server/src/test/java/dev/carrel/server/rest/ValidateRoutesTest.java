package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class ValidateRoutesTest {
  private static final String VALIDATE = "/api/v1/validate";

  private final LiveServer server;

  ValidateRoutesTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void codeIsLookedAtAndMended() {
    Answer good = server.post(VALIDATE, "{\"code\":\"print(os.getcwd())\"}");
    assertThat(good.status()).isEqualTo(200);
    assertThat(good.json().get("valid").asBoolean()).isTrue();
    assertThat(good.json().get("fixed_code").asText()).isEqualTo("import os\nprint(os.getcwd())");

    Answer bad = server.post(VALIDATE, "{\"code\":\"eval('1')\",\"on_danger\":\"reject\"}");
    assertThat(bad.json().get("valid").asBoolean()).isFalse();
    assertThat(bad.json().at("/findings/0/rule").asText()).isEqualTo("eval");
    assertThat(bad.json().at("/findings/0/severity").asText()).isEqualTo("critical");
    assertThat(server.post(VALIDATE, "{}").field()).isEqualTo("code");
    assertThat(server.post(VALIDATE, "{\"code\":\"1\",\"on_danger\":\"maybe\"}").field())
        .isEqualTo("on_danger");
  }

  @Test
  void codeThatIsToBeCheckedIsRefusedBeforeItRuns() {
    String path = server.sandbox();
    Answer refused =
        server.post(path + "/code", "{\"code\":\"x = 5; exec('1')\",\"validate\":\"reject\"}");
    assertThat(refused.status()).isEqualTo(422);
    assertThat(refused.field()).isEqualTo("code");
    assertThat(refused.text()).contains("exec").contains("critical");
    assertThat(server.post(path + "/code", "{\"code\":\"x\"}").text()).contains("NameError");
    Answer mended =
        server.post(
            path + "/code",
            "{\"code\":\"json.dumps([1])\",\"validate\":\"warn\",\"auto_fix\":true}");
    assertThat(mended.text()).contains("[1]");
    assertThat(server.post(path + "/code", "{\"code\":\"def f(:\",\"validate\":\"off\"}").status())
        .isEqualTo(422);
  }
}
