package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.dist.Distribution.Ended;
import dev.carrel.dist.Distribution.Running;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What only shows in a terminal, which script(1) lends. */
@Timeout(300)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TerminalIT {
  private Path folder = Path.of("");
  private Distribution distribution;
  private Running server;
  private String id = "";

  @BeforeAll
  void serve(@TempDir Path temporary) throws Exception {
    folder = temporary;
    distribution = new Distribution(folder);
    server = distribution.start(List.of(Distribution.program(), "serve"));
    server.awaitOutput("Ctrl-C stops the server");
    id = distribution.carrel("sandbox", "create", "-q").out().strip();
  }

  @AfterAll
  void stop() throws Exception {
    distribution.carrel("sandbox", "delete", id);
    server.signal("TERM");
    server.await();
  }

  @Test
  void theCommandGetsATerminalOfThisSize() throws Exception {
    Ended ended = inTerminal("stty rows 31 cols 101; $carrel exec -t $id -- stty size");

    assertThat(ended.out()).contains("31 101");
  }

  @Test
  void keysPassRawAndTheTerminalIsRestored() throws Exception {
    Ended ended =
        inTerminal(
            """
            before=$(stty -g)
            mkfifo keys
            $carrel exec -t $id -- sh -c 'stty raw -echo; echo ready; dd bs=1 count=1 2>/dev/null | od -An -tx1' \
              < keys > seen &
            exec 9> keys
            until grep -q ready seen; do sleep 0.1; done
            printf '\\003' >&9
            wait $!
            cat seen
            [ "$before" = "$(stty -g)" ] && echo restored
            """);

    assertThat(ended.out()).contains("03", "restored");
  }

  @Test
  void aNewSizeOfTheTerminalReachesTheCommand() throws Exception {
    Ended ended =
        inTerminal(
            """
            $carrel exec -t $id -- sh -c \
              'trap "stty size; exit" WINCH; echo ready; while :; do sleep 0.1; done' > resized &
            until grep -q ready resized; do sleep 0.1; done
            stty rows 44 cols 111
            wait $!
            cat resized
            """);

    assertThat(ended.out()).contains("44 111");
  }

  @Test
  void aShellIsLeftAndJoinedAgain() throws Exception {
    Ended ended =
        inTerminal(
            """
            mkfifo leave join
            $carrel terminal open $id -- sh -c 'echo ready; read line; echo "got $line"; exit 4' \
              < leave > left 2>&1 &
            exec 8> leave
            until grep -q ready left; do sleep 0.1; done
            printf '\\035' >&8
            wait $! && echo "left well"
            shell=$($carrel terminal list --json $id | grep -o 'ex[a-z2-7]\\{14\\}' | head -1)
            $carrel terminal attach $id $shell < join > joined &
            exec 9> join
            printf 'a word\\n' >&9
            wait $!
            echo "code $?"
            cat left joined
            """);

    assertThat(ended.out())
        .contains("left well", "carrel terminal attach", "code 4", "ready", "got a word");
  }

  @Test
  void whereNoTerminalIsNothingIsBegun() throws Exception {
    String before = distribution.carrel("terminal", "list", "--json", id).out();

    Ended open = withoutTerminal("terminal", "open", id);
    Ended exec = withoutTerminal("exec", "-t", id, "touch", "begun");

    assertThat(open.code()).isEqualTo(125);
    assertThat(open.err()).contains("no terminal here", "--detach").doesNotContain("-t out");
    assertThat(distribution.carrel("terminal", "list", "--json", id).out()).isEqualTo(before);
    assertThat(exec.err()).contains("no terminal here", "leave -t out");
    assertThat(distribution.carrel("exec", id, "ls").out()).doesNotContain("begun");
  }

  private Ended withoutTerminal(String... arguments) throws Exception {
    var command = new ArrayList<>(List.of("setsid", "--wait", Distribution.program()));
    command.addAll(List.of(arguments));
    return distribution.run(command);
  }

  @Test
  void exitCodeComesThroughTheTerminal() throws Exception {
    assertThat(inTerminal("$carrel exec -t $id -- sh -c 'exit 6'; echo \"code $?\"").out())
        .contains("code 6");
  }

  @Test
  void coloursAreForTerminalsAndNotForThoseWhoDecline() throws Exception {
    assertThat(inTerminal("$carrel sandbox list").out()).contains("\033[32mrunning");
    assertThat(inTerminal("NO_COLOR=1 $carrel sandbox list").out())
        .contains("running")
        .doesNotContain("\033[");
    assertThat(distribution.carrel("sandbox", "list").out()).doesNotContain("\033[");
  }

  private Ended inTerminal(String script) throws Exception {
    String line =
        "cd %s; export TERM=xterm; carrel=%s; id=%s\n%s"
            .formatted(folder, Distribution.program(), id, script);
    return distribution.run(List.of("script", "-qec", line, "/dev/null"));
  }
}
