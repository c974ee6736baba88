// Many sandboxes at once, each on a virtual thread of its own. Needs CARREL_URL and CARREL_TOKEN.
import dev.carrel.sdk.Carrel;
import dev.carrel.sdk.Sandbox;
import dev.carrel.sdk.SandboxOptions;
import java.util.concurrent.Executors;
import java.util.stream.Stream;

String factorial(Carrel carrel, int number) {
  SandboxOptions small = SandboxOptions.defaults().withMemoryMb(128L).withEphemeral(true);
  try (Sandbox sandbox = Sandbox.create(carrel, small)) {
    String code = "import math; math.factorial(" + number + ")";
    return number + "! = " + sandbox.runCode("python", code).text();
  }
}

void main() throws Exception {
  try (Carrel carrel = Carrel.connect();
      var threads = Executors.newVirtualThreadPerTaskExecutor()) {
    for (var line : Stream.of(5, 10, 15).map(n -> threads.submit(() -> factorial(carrel, n))).toList()) {
      IO.println(line.get());
    }
  }
}
