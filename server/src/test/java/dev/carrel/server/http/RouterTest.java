package dev.carrel.server.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RouterTest {
  private final Router router =
      new Router()
          .get("/things", exchange -> {})
          .post("/things", exchange -> {})
          .get("/things/{id}", exchange -> {})
          .get("/things/{id}/files", exchange -> {})
          .get("/things/{id}/files/{path...}", exchange -> {});

  @Test
  void segmentsAreDecodedAfterTheyAreToldApart() {
    Router.Match match = router.match("GET", "/things/a%2Fb");
    assertThat(match.route().template()).isEqualTo("/things/{id}");
    assertThat(match.parameters()).containsEntry("id", "a/b");
  }

  @Test
  void theRestStaysRaw() {
    Router.Match match = router.match("GET", "/things/7/files/a%2e/b//c/");
    assertThat(match.route().template()).isEqualTo("/things/{id}/files/{path...}");
    assertThat(match.rest()).containsExactly("a%2e", "b", "", "c", "");
  }

  @Test
  void theRestMayBeginWithASlash() {
    assertThat(router.match("GET", "/things/7/files//etc").rest()).containsExactly("", "etc");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/", "", "/nothing", "/things/7/8", "/things/", "/%74hings", "//things"})
  void otherPathsAreNotFound(String path) {
    assertThatThrownBy(() -> router.match("GET", path))
        .isInstanceOfSatisfying(
            HttpProblem.class, problem -> assertThat(problem.status()).isEqualTo(404));
  }

  @Test
  void whereThereIsAGetThereIsAHead() {
    assertThat(router.match("HEAD", "/things").route().method()).isEqualTo("GET");
    router.head("/things/{id}", exchange -> {});
    assertThat(router.match("HEAD", "/things/7").route().method()).isEqualTo("HEAD");
  }

  @Test
  void anotherMethodIsToldWhichThereAre() {
    assertThatThrownBy(() -> router.match("DELETE", "/things"))
        .isInstanceOfSatisfying(
            HttpProblem.class,
            problem -> {
              assertThat(problem.status()).isEqualTo(405);
              assertThat(problem.headerValue()).isEqualTo("GET, HEAD, POST");
            });
  }

  @ParameterizedTest
  @ValueSource(strings = {"%", "%4", "%zz", "%ff", "%c0%af", "%ed%a0%80", "a%", "\ufffd", "é"})
  void whatIsNotUtf8IsRefused(String segment) {
    assertThatThrownBy(() -> router.match("GET", "/things/" + segment))
        .isInstanceOfSatisfying(
            HttpProblem.class, problem -> assertThat(problem.status()).isEqualTo(400));
  }

  @Test
  void endlessPathsAreRefused() {
    assertThatThrownBy(() -> router.match("GET", "/a".repeat(300)))
        .isInstanceOfSatisfying(
            HttpProblem.class, problem -> assertThat(problem.status()).isEqualTo(400));
  }
}
