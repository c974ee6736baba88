package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Content;
import dev.carrel.server.mcp.Prompt;
import java.util.List;

/** Prompts that teach an agent to make good use of its sandbox. */
final class Guides {
  private Guides() {}

  private record Guide(
      String name, String title, String description, List<Argument> arguments, String text)
      implements Prompt {
    @Override
    public List<ObjectNode> messages(Call call) {
      String words = text;
      for (Argument argument : arguments) {
        words = words.replace("{" + argument.name() + "}", call.text(argument.name()));
      }
      return List.of(Prompt.message("user", Content.text(words)));
    }
  }

  static List<Prompt> all() {
    return List.of(
        new Guide(
            "analyze_data",
            "Analyse data",
            "Work through a question about a data file, step by step, with figures.",
            List.of(
                new Prompt.Argument("file", "Path of the file in the sandbox", true),
                new Prompt.Argument("question", "What you want to know", true)),
            """
            Answer this question about the file {file}: {question}

            Work in one session: call create_session, then execute_code in small steps. Look at the \
            first rows and the types before you compute anything. State stays between calls, so load \
            the data once. Draw a figure where it says more than a number; it comes back as an image. \
            When a call fails, read the traceback and change the code; do not repeat it as it was. \
            At the end say the answer, and how sure you are. Then call stop_session."""),
        new Guide(
            "fix_tests",
            "Make failing tests pass",
            "Find out why tests fail, and mend the code.",
            List.of(new Prompt.Argument("command", "The command that runs the tests", true)),
            """
            Make the tests pass that `{command}` runs.

            Run them with Bash first and read what they say. Find the code with Grep and Glob, read \
            it with Read, and change it with Edit: give old_string as it is in the file, with enough \
            around it to be the only such place. Change the code rather than the tests, unless a \
            test is wrong; then say why. Run the tests again after each change."""),
        new Guide(
            "reach_the_network",
            "Reach a host",
            "Get a sandbox to reach a host that its policy does not allow yet.",
            List.of(new Prompt.Argument("host", "The host that is needed", true)),
            """
            You need {host} from a sandbox. Nothing is allowed by default, and no setting inside the \
            sandbox changes that. Begin a new session with allowed_domains ["{host}"] if you may, or \
            ask a person with request_egress (tool set `security`) and say in a sentence what for. \
            Go on with something else while you wait, and do not look for a way around."""));
  }
}
