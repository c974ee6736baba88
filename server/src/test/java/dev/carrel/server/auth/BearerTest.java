package dev.carrel.server.auth;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BearerTest {
  @ParameterizedTest
  @ValueSource(strings = {"Bearer abc", "bearer abc", "BEARER  abc "})
  void theSchemeHasAnyCaseAndTheTokenNoSpaces(String header) {
    assertThat(Bearer.token(header)).contains("abc");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "Bearer", "Bearerabc", "Basic Bearer abc", " Bearer abc"})
  void otherSchemesHoldNone(String header) {
    assertThat(Bearer.token(header)).isEmpty();
  }

  @Test
  void anEmptyTokenIsOneThatNobodyHas() {
    assertThat(Bearer.token("Bearer  ")).contains("");
  }
}
