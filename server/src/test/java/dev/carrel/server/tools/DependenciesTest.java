package dev.carrel.server.tools;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.packages.InstallPackages;
import dev.carrel.spi.Language;
import org.junit.jupiter.api.Test;

class DependenciesTest {
  @Test
  void versionsAreWrittenAsTheClientDoes() {
    InstallPackages pip =
        request(
            Language.PYTHON,
            """
            {"uvicorn[standard]":"","six":">=1,<2","attrs":"~=25.1","pytz":"2025.2","idna":"*",
             "x":1.5,"y":null}""");
    assertThat(pip.packages())
        .containsExactly(
            "uvicorn[standard]", "six>=1,<2", "attrs~=25.1", "pytz==2025.2", "idna", "x==1.5", "y")
        .allMatch(pip.client()::accepts);
    InstallPackages npm = request(Language.NODE, "{\"@a/b\":\"3.0.1\",\"is-odd\":\"\"}");
    assertThat(npm.packages())
        .containsExactly("@a/b@3.0.1", "is-odd")
        .allMatch(npm.client()::accepts);
  }

  @Test
  void aVersionThatTheClientCannotChooseIsNotLeftOut() {
    InstallPackages r = request(Language.R, "{\"jsonlite\":\"1.8\"}");
    assertThat(r.packages()).noneMatch(r.client()::accepts);
  }

  private static InstallPackages request(Language language, String given) {
    return new Dependencies(language, Schemas.of(given)).request();
  }
}
