package dev.carrel.control.sandbox;

import static dev.carrel.control.ControlFixture.ALICE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.ControlFixture;
import java.io.IOException;
import org.junit.jupiter.api.Test;

final class BulkIT {
  @Test
  void whatIsLeftIsCounted() throws IOException {
    try (var fixture = new ControlFixture()) {
      Sandboxes sandboxes = fixture.control().sandboxes();
      Sandbox oldest = fixture.sandbox();
      Sandbox middle = fixture.sandbox();
      Sandbox newest = fixture.sandbox();

      Bulk.Found some = new Bulk(sandboxes, 2).find(ALICE, SandboxQuery.all());
      assertThat(some.ids()).hasSize(2).doesNotContain(oldest.id());
      assertThat(some.left()).isEqualTo(1);
      Bulk.Found all = new Bulk(sandboxes, 3).find(ALICE, SandboxQuery.all());
      assertThat(all.ids()).containsExactlyInAnyOrder(newest.id(), middle.id(), oldest.id());
      assertThat(all.left()).isZero();
    }
  }
}
