package dev.carrel.control.packages;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.exec.CapturedText;
import dev.carrel.spi.DataSize;
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
    "NPM,JSONStream@1.3.5,JSONStream,1.3.5",
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
            List.of("six", "zope-*", "@own/*"),
            List.of("@own/bad", "zope.bad"),
            Duration.ZERO,
            Duration.ofMinutes(1),
            new DataSize(0));

    rules.require(PackageClient.PIP, "SIX", true);
    rules.require(PackageClient.PIP, "Zope.Interface", true);
    rules.require(PackageClient.NPM, "@own/x", true);
    refuses(rules, PackageClient.NPM, "@own/bad");
    refuses(rules, PackageClient.NPM, "other");
    refuses(rules, PackageClient.PIP, "six-more");
    // For pip one and the same name.
    refuses(rules, PackageClient.PIP, "Zope__Bad");
  }

  private static void refuses(PackageSettings rules, PackageClient client, String name) {
    assertThatExceptionOfType(SandboxException.class)
        .as(name)
        .isThrownBy(() -> rules.require(client, name, false))
        .withMessageContaining("which is needed");
  }

  @Test
  void namesAreArgumentsAfterTheOptions() {
    var request = new InstallPackages(PackageClient.NPM, List.of("is-odd@3.0.1"), false);

    assertThat(Clients.resolve(request, Duration.ofDays(1), "/tmp/place"))
        .contains("/tmp/place")
        .anyMatch(word -> word.startsWith("--before="))
        .endsWith("--", "is-odd@3.0.1");
    assertThat(Clients.install(request, "/tmp/place"))
        .contains("--ignore-scripts", "/tmp/place")
        .doesNotContain("is-odd@3.0.1");
    assertThat(
            Clients.resolve(
                new InstallPackages(PackageClient.PIP, List.of("six==1"), true),
                Duration.ZERO,
                "/tmp/place"))
        .doesNotContain("--only-binary=:all:")
        .endsWith("--", "six==1");
  }

  @Test
  void whatTheClientChoseIsReadAndInstalledToTheByte() {
    String digest = "a".repeat(64);
    Resolution chosen = read(PackageClient.PIP, "six 1.17.0 " + digest + "\nattrs 25.1 " + digest);
    assertThat(chosen.requirements())
        .isEqualTo(
            "six==1.17.0 --hash=sha256:%s\nattrs==25.1 --hash=sha256:%s\n"
                .formatted(digest, digest));
    assertThat(read(PackageClient.PIP, "six 1.17.0 -").requirements()).isEqualTo("six==1.17.0\n");
  }

  @ParameterizedTest
  @CsvSource({
    "PIP,six 1 - --index-url=http://evil.example",
    "PIP,six 1 sha512:00",
    "PIP,--index-url=http://evil.example 1 -",
    "PIP,six --pre -",
    "NPM,@ /workspace/else",
    "NPM,is-odd npm:evil -",
    "R,words"
  })
  void whatIsNoPackageInTheClientsAnswerEndsTheInstall(PackageClient client, String line) {
    assertThatExceptionOfType(SandboxException.class).isThrownBy(() -> read(client, line));
  }

  private static Resolution read(PackageClient client, String text) {
    return Resolution.read(client, new CapturedText(text, text.length(), false));
  }
}
