package dev.carrel.server.auth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.control.sandbox.Caller;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TokenFileTest {
  @TempDir Path directory;

  @Test
  void theFirstStartMakesATokenThatOnlyItsOwnerCanRead() throws IOException {
    Path file = directory.resolve("deep/token");
    TokenFile tokens = TokenFile.openOrCreate(file);
    String token = TokenFile.firstToken(file);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    assertThat(tokens.authenticate(token))
        .contains(new Caller("default", "admin", Caller.Role.ADMIN));
    assertThat(TokenFile.openOrCreate(file).authenticate(token)).isPresent();
  }

  @Test
  void linesNameTenantsPrincipalsAndRoles() throws IOException {
    TokenFile tokens =
        TokenFile.openOrCreate(
            write(
                """
                # people
                aaaaaaaaaaaaaaaa acme

                bbbbbbbbbbbbbbbb acme bo
                cccccccccccccccc acme cy admin
                dddddddddddddddd acme di user host
                """));
    assertThat(tokens.authenticate("aaaaaaaaaaaaaaaa")).contains(Caller.user("acme", "acme"));
    assertThat(tokens.authenticate("bbbbbbbbbbbbbbbb")).contains(Caller.user("acme", "bo"));
    assertThat(tokens.authenticate("cccccccccccccccc"))
        .contains(new Caller("acme", "cy", Caller.Role.ADMIN));
    assertThat(tokens.authenticate("dddddddddddddddd"))
        .contains(new Caller("acme", "di", Caller.Role.USER, Set.of(Caller.Permission.HOST)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "aaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaab", "AAAAAAAAAAAAAAAA", "#"})
  void otherTokensAreNobodys(String token) throws IOException {
    TokenFile tokens = TokenFile.openOrCreate(write("aaaaaaaaaaaaaaaa\n"));
    assertThat(tokens.authenticate(token)).isEmpty();
    assertThat(tokens.authenticate("a".repeat(100_000))).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "# only words\n",
        "short\n",
        "aaaaaaaaaaaaaaaa t p root\n",
        "aaaaaaaaaaaaaaaa t p user more\n",
        "aaaaaaaaaaaaaaaa t p user host more\n",
        "ééééééééééééééééé\n"
      })
  void aFileThatIsNotClearStopsTheStart(String text) {
    assertThatThrownBy(() -> TokenFile.openOrCreate(write(text)))
        .hasMessageContaining("token file");
  }

  @Test
  void aFileThatOthersCanReadStopsTheStart() throws IOException {
    Path file = write("aaaaaaaaaaaaaaaa\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
    assertThatThrownBy(() -> TokenFile.openOrCreate(file)).hasMessageContaining("chmod 600");
  }

  private Path write(String text) throws IOException {
    Path file = directory.resolve("tokens");
    Files.writeString(file, text);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    return file;
  }
}
