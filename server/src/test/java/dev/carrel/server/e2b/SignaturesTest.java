package dev.carrel.server.e2b;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import org.junit.jupiter.api.Test;

class SignaturesTest {
  private static final String TOKEN = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0";

  @Test
  void signsAsTheClientsDo() {
    assertThat(
            Signatures.sign(
                "hello.txt", Signatures.Operation.READ, "user", TOKEN, Optional.empty()))
        .isEqualTo("v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
  }

  @Test
  void anotherOperationUserOrEndIsAnotherSignature() {
    String read = Signatures.sign("a", Signatures.Operation.READ, "user", TOKEN, Optional.empty());
    assertThat(Signatures.sign("a", Signatures.Operation.WRITE, "user", TOKEN, Optional.empty()))
        .isNotEqualTo(read);
    assertThat(Signatures.sign("a", Signatures.Operation.READ, "", TOKEN, Optional.empty()))
        .isNotEqualTo(read);
    assertThat(Signatures.sign("a", Signatures.Operation.READ, "user", TOKEN, Optional.of("1")))
        .isNotEqualTo(read);
  }
}
