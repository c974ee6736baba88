package dev.carrel.control.packages;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RequirementTest {
  @ParameterizedTest
  @CsvSource({
    "PIP,six,six,",
    "PIP,zope.interface==7.2,zope.interface,7.2",
    "PIP,a==1!2.0+local,a,1!2.0+local",
    "PIP,six>=1,six,",
    "PIP,uvicorn[standard]==0.35.0,uvicorn,0.35.0",
    "PIP,six~=1.17,six,",
    "NPM,is-odd,is-odd,",
    "NPM,is-odd@3.0.1,is-odd,3.0.1",
    "NPM,@scope/name@next,@scope/name,next",
    "R,data.table,data.table,"
  })
  void namesAndVersionsAreRead(PackageClient client, String text, String name, String version) {
    assertThat(client.requirement(text)).isEqualTo(new Requirement(name, version, text));
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      value = {
        "PIP,--index-url=http://evil.example",
        "PIP,-r",
        "PIP,git+https://evil.example/x",
        "PIP,https://evil.example/x.whl",
        "PIP,./here",
        "PIP,six @ file:///etc",
        "PIP,six>=",
        "PIP,six >= 1",
        "PIP,six>=1;python_version>'3'",
        "PIP,six; echo 1",
        "PIP,six[]",
        "PIP,six[a b]",
        "PIP,six==",
        "PIP,``",
        "NPM,--registry=http://evil.example",
        "NPM,../up",
        "NPM,evil/repository",
        "NPM,is-odd@https://evil.example",
        "NPM,is-odd@npm:evil",
        "NPM,@scope/../x",
        "NPM,Is-Odd",
        "R,jsonlite');q(",
        "R,-e",
        "R,x"
      })
  void whatIsNoNameIsRefused(PackageClient client, String text) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> client.requirement(text))
        .matches(e -> e.field().orElse("").equals("packages"));
  }

  @Test
  void theOperatorsListsDecide() {
    var rules =
        new PackageSettings(
            List.of("six", "@own/*"), List.of("@own/bad"), Duration.ZERO, Duration.ofMinutes(1));

    rules.require(new Requirement("SIX", null, "SIX"));
    rules.require(new Requirement("@own/x", "1", "@own/x@1"));
    for (String name : List.of("@own/bad", "other", "six-more")) {
      assertThatExceptionOfType(SandboxException.class)
          .as(name)
          .isThrownBy(() -> rules.require(new Requirement(name, null, name)));
    }
  }

  @Test
  void namesAreArgumentsAfterTheOptions() {
    var request = new InstallPackages(PackageClient.NPM, List.of("is-odd@3.0.1"), false);

    assertThat(Clients.install(request, Duration.ofDays(1)))
        .contains("--ignore-scripts")
        .anyMatch(word -> word.startsWith("--before="))
        .endsWith("--", "is-odd@3.0.1");
    assertThat(
            Clients.install(
                new InstallPackages(PackageClient.PIP, List.of("six==1"), true), Duration.ZERO))
        .doesNotContain("--only-binary=:all:")
        .endsWith("--", "six==1");
  }
}
