// A long command that survives a broken connection: with a key it runs once, and is followed again after the last byte that
// came. Needs CARREL_URL and CARREL_TOKEN.
import dev.carrel.sdk.Carrel;
import dev.carrel.sdk.ExecEvent;
import dev.carrel.sdk.ExecOptions;
import dev.carrel.sdk.ExecStream;
import dev.carrel.sdk.Sandbox;
import java.util.UUID;

void main() {
  ExecOptions steps =
      ExecOptions.shell("for i in 1 2 3; do echo step $i; sleep 0.2; done")
          .withIdempotencyKey(UUID.randomUUID().toString());
  try (Carrel carrel = Carrel.connect();
      Sandbox sandbox = Sandbox.create(carrel);
      ExecStream running = sandbox.execStream(steps)) {
    for (ExecEvent event : running) {
      if (event instanceof ExecEvent.Output output) {
        IO.print(output.text());
      }
    }
  }
}
