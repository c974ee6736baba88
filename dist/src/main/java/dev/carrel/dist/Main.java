package dev.carrel.dist;

import dev.carrel.cli.Cli;
import dev.carrel.dist.config.ConfigurationException;
import dev.carrel.dist.config.Environment;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Where the program starts. */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) {
    var out = stream(FileDescriptor.out);
    var err = stream(FileDescriptor.err);
    int code;
    try {
      code = run(Environment.ofThisProcess(), List.of(arguments), out, err);
    } catch (ConfigurationException e) {
      err.println("carrel: " + e.getMessage());
      code = Cli.FAILED;
    }
    if (out.checkError() && code == 0) {
      err.println("carrel: standard output could not be written");
      code = Cli.FAILED;
    }
    err.flush();
    System.exit(code);
  }

  private static int run(
      Environment environment, List<String> arguments, PrintStream out, PrintStream err) {
    if (arguments.size() == 2 && arguments.getFirst().equals(Training.NAME)) {
      return Training.run(environment, arguments.getLast(), err);
    }
    return new Cli(new ThisHost(environment), System.in, out, err).run(arguments);
  }

  // Not System.out: its charset follows the locale, and under LANG=C every ü would become a
  // question mark.
  private static PrintStream stream(FileDescriptor descriptor) {
    return new PrintStream(new FileOutputStream(descriptor), false, StandardCharsets.UTF_8);
  }
}
