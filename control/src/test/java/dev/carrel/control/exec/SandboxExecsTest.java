package dev.carrel.control.exec;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class SandboxExecsTest {
  private final int most = ExecSettings.defaults().maxConcurrent();
  private final SandboxExecs box = new SandboxExecs(ExecSettings.defaults(), new MemoryRoom(0));

  @Test
  void aSlotThatIsGivenBackTwiceIsOne() {
    List<Runnable> taken = takeAll();
    taken.getFirst().run();
    taken.getFirst().run();

    box.takeSlot();
    assertFull();
  }

  @Test
  void whoHasNoneGivesNoneBack() {
    takeAll();

    assertFull();
    assertFull();
  }

  @Test
  void aSlotBeyondTheLimitIsGivenBackTooOnce() {
    List<Runnable> taken = takeAll();
    Runnable joined = box.takeSlotAnyway();
    joined.run();
    joined.run();

    assertFull();
    taken.getFirst().run();
    box.takeSlot();
    assertFull();
  }

  private List<Runnable> takeAll() {
    var taken = new ArrayList<Runnable>();
    for (int i = 0; i < most; i++) {
      taken.add(box.takeSlot());
    }
    return taken;
  }

  private void assertFull() {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(box::takeSlot)
        .matches(e -> e.code() == ErrorCode.LIMIT_REACHED);
  }
}
