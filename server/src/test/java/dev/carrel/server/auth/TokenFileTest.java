package dev.carrel.server.auth;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.control.sandbox.Caller;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TokenFileTest {
  private static final String SECRET = "as-long-as-the-longest-digest-of-them-all".repeat(2);

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
  @ValueSource(strings = {"HS256", "HS384", "HS512"})
  void clientsMakeTokensWithASharedSecret(String algorithm) throws Exception {
    Path file = write("jwt:" + SECRET + " acme ada\naaaaaaaaaaaaaaaa\n");
    TokenFile tokens = TokenFile.openOrCreate(file);
    long now = Instant.now().getEpochSecond();
    String claims = "{\"iat\":%d,\"exp\":%d}".formatted(now, now + 60);
    String token = jwt(algorithm, claims, SECRET);
    assertThat(tokens.authenticate(token)).contains(Caller.user("acme", "ada"));
    assertThat(TokenFile.firstToken(file)).isEqualTo("aaaaaaaaaaaaaaaa");
    for (String bad :
        List.of(
            jwt(algorithm, claims, SECRET + "x"),
            jwt("RS256", claims, SECRET),
            jwt("none", claims, SECRET),
            unsigned(jwt("none", claims, SECRET)),
            jwt(algorithm, "{\"iat\":%d}".formatted(now), SECRET),
            jwt(algorithm, "{\"exp\":%d}".formatted(now - 1), SECRET),
            jwt(algorithm, "{\"exp\":%d}".formatted(now + 10_000), SECRET),
            jwt(algorithm, "{\"exp\":\"%d\"}".formatted(now + 60), SECRET),
            jwt(algorithm, "{\"exp\":%d,\"nbf\":%d}".formatted(now + 600, now + 300), SECRET),
            jwt(algorithm, "[]", SECRET),
            unsigned(token),
            unsigned(token) + "!",
            token + "xx",
            "..",
            "a.b.c",
            "jwt:" + SECRET,
            SECRET)) {
      assertThat(tokens.authenticate(bad)).as(bad).isEmpty();
    }
  }

  private static String jwt(String algorithm, String claims, String secret) throws Exception {
    String text =
        encoded("{\"alg\":\"%s\",\"typ\":\"JWT\"}".formatted(algorithm).getBytes(UTF_8))
            + "."
            + encoded(claims.getBytes(UTF_8));
    String name = "HmacSHA" + (algorithm.startsWith("HS") ? algorithm.substring(2) : "256");
    Mac mac = Mac.getInstance(name);
    mac.init(new SecretKeySpec(secret.getBytes(UTF_8), name));
    return text + "." + encoded(mac.doFinal(text.getBytes(UTF_8)));
  }

  /** As a token whose algorithm is none has to be. */
  private static String unsigned(String token) {
    return token.substring(0, token.lastIndexOf('.') + 1);
  }

  private static String encoded(byte[] bytes) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
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
        "jwt:short-for-a-secret t p\n",
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
