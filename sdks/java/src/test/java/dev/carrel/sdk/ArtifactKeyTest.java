package dev.carrel.sdk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ArtifactKeyTest {
  private static final String HELLO =
      "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  private static final String STATEMENT =
      "{\"_type\":\"https://in-toto.io/Statement/v1\",\"subject\":[{\"name\":\"outputs/a\","
          + "\"digest\":{\"sha256\":\""
          + HELLO
          + "\"}}]}";

  private final KeyPair pair = pair();
  private final String text = Base64.getEncoder().encodeToString(pair.getPublic().getEncoded());

  @Test
  void aFileIsKnownByItsBytesAlone(@TempDir Path folder) throws IOException {
    var digest = ArtifactKey.Digest.of(Files.writeString(folder.resolve("x"), "hello"));
    assertThat(digest).isEqualTo(new ArtifactKey.Digest(HELLO, 5));
    String signature = sign("carrel artifact 1\n" + HELLO + "\n5\n");

    assertThat(ArtifactKey.parse(text).signed(digest, signature)).isTrue();
    assertThat(ArtifactKey.parse(text).signed(new ArtifactKey.Digest(HELLO, 6), signature))
        .isFalse();
    assertThat(ArtifactKey.parse(text).signed(digest, "not base64!")).isFalse();
    assertThat(ArtifactKey.parse(text).signed(digest, "QUJD")).isFalse();
  }

  @Test
  void aKeyMayComeAsPem() {
    assertThat(
            ArtifactKey.parse("-----BEGIN PUBLIC KEY-----\n" + text + "\n-----END PUBLIC KEY-----"))
        .isNotNull();
    assertThatIllegalArgumentException().isThrownBy(() -> ArtifactKey.parse("nonsense"));
    assertThatIllegalArgumentException().isThrownBy(() -> ArtifactKey.parse(""));
  }

  @Test
  void aManifestCountsOnlyWhenTheKeySignedIt(@TempDir Path folder) throws IOException {
    String payload = Base64.getEncoder().encodeToString(STATEMENT.getBytes(StandardCharsets.UTF_8));
    String signed =
        sign("DSSEv1 28 application/vnd.in-toto+json " + STATEMENT.length() + " " + STATEMENT);
    Path file = folder.resolve("manifest.json");
    manifest(payload, signed).write(file);

    assertThat(ArtifactKey.parse(text).digests(ArtifactManifest.read(file)))
        .contains(Map.of("outputs/a", HELLO));
    String other =
        Base64.getEncoder()
            .encodeToString(
                STATEMENT.replace("outputs", "trusted").getBytes(StandardCharsets.UTF_8));
    assertThat(ArtifactKey.parse(text).digests(manifest(other, signed))).isEmpty();
    assertThat(ArtifactKey.parse(text).digests(manifest("%", signed))).isEmpty();
    assertThat(
            ArtifactKey.parse(Base64.getEncoder().encodeToString(pair().getPublic().getEncoded()))
                .digests(manifest(payload, signed)))
        .isEmpty();
  }

  private static ArtifactManifest manifest(String payload, String signature) {
    return new ArtifactManifest(
        ArtifactManifest.TYPE, payload, List.of(new ArtifactManifest.Signature("any", signature)));
  }

  private String sign(String message) {
    try {
      Signature ed25519 = Signature.getInstance("Ed25519");
      ed25519.initSign(pair.getPrivate());
      ed25519.update(message.getBytes(StandardCharsets.UTF_8));
      return Base64.getEncoder().encodeToString(ed25519.sign());
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  private static KeyPair pair() {
    try {
      return KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }
}
