// A sandbox, a command, a file, and code that keeps its state. Needs CARREL_URL and CARREL_TOKEN.
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.carrel.sdk.Carrel;
import dev.carrel.sdk.Sandbox;
import dev.carrel.sdk.SandboxOptions;

void main() {
  try (Carrel carrel = Carrel.connect();
      Sandbox sandbox = Sandbox.create(carrel, SandboxOptions.defaults().withMemoryMb(256L))) {
    IO.print(sandbox.exec("uname -s").stdout());
    sandbox.files().write("numbers.txt", "1\n2\n3\n".getBytes(UTF_8));
    sandbox.runCode("python", "numbers = [int(line) for line in open('numbers.txt')]");
    IO.println(sandbox.runCode("python", "sum(numbers)").text());
  }
}
