package dev.carrel.server.e2b;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class HomeTest {
  @Test
  void homeIsTheWorkspace() {
    assertThat(Home.of("a/b.txt").inside()).isEqualTo("/workspace/a/b.txt");
    assertThat(Home.of("/home/user/a").inside()).isEqualTo("/workspace/a");
    assertThat(Home.of("/home/user").inside()).isEqualTo("/workspace");
    assertThat(Home.of("/home/username").inside()).isEqualTo("/home/username");
  }

  @Test
  void whatIsFoundIsShownByTheNameThatWasAskedFor() {
    assertThat(Home.of("a").shown("/workspace/a")).isEqualTo("/home/user/a");
    assertThat(Home.of("/workspace/a").shown("/workspace/a")).isEqualTo("/workspace/a");
    assertThat(Home.of("/tmp").shown("/tmp/x")).isEqualTo("/tmp/x");
  }

  @Test
  void dotsGoNowhereAboveTheRoot() {
    assertThat(Home.of("../../../../etc/passwd").inside()).isEqualTo("/etc/passwd");
    assertThat(Home.of("/home/user/../../workspace/./x").inside()).isEqualTo("/workspace/x");
    assertThat(Home.of("a/../b").inside()).isEqualTo("/workspace/b");
  }
}
