package dev.carrel.cli;

import dev.carrel.sdk.CarrelException;
import dev.carrel.sdk.ExecEvent;
import dev.carrel.sdk.ExecOptions;
import dev.carrel.sdk.ExecStream;
import dev.carrel.sdk.FileChange;
import dev.carrel.sdk.Sandbox;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "run",
    description = {
      "Run a program in a sandbox of its own, which is gone afterwards.",
      "",
      "The language follows from the extension or the shebang. Arguments that are files here are"
          + " put beside the program. Output appears as it is written, standard input passes,"
          + " Ctrl-C interrupts, and the exit code is the program's."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel run -c 'print(6*7)'",
      "  carrel run script.py data.csv",
      "  carrel run app.js",
      "  echo 'cat(1+1)' | carrel run --language r -",
      "  carrel run --memory 256 --timeout 10 job.sh",
      "  carrel run -o results plot.py     files that it makes are copied to results/"
    })
final class RunCommand implements Callable<Integer> {
  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();
  @Mixin private SandboxShape shape = new SandboxShape();

  @Option(
      names = {"-c", "--code"},
      paramLabel = "CODE",
      description = "The program itself, in Python unless --language says otherwise.")
  private @Nullable String code;

  @Option(
      names = {"-l", "--language"},
      paramLabel = "LANGUAGE",
      completionCandidates = Choices.Languages.class,
      description = "python, node, r or bash.")
  private @Nullable String language;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      description = "Kill the whole process tree after this long.")
  private @Nullable Double timeout;

  @Option(
      names = {"-o", "--output"},
      paramLabel = "DIR",
      description = "Copy the files that the program makes or changes to DIR.")
  private @Nullable Path output;

  @Option(names = "--keep", description = "Keep the sandbox and say its id.")
  private boolean keep;

  @Parameters(
      arity = "0..*",
      paramLabel = "FILE [ARGUMENT...]",
      description = "The program, or - for standard input; then its arguments.")
  private List<String> words = List.of();

  RunCommand(Session session) {
    this.session = session;
  }

  /** What is put into the sandbox, and what is started there. */
  private record Job(Upload program, List<Upload> besides, List<String> command, boolean stdin) {}

  private sealed interface Upload {
    String name();

    record Text(String name, String text) implements Upload {}

    record LocalFile(String name, Path path) implements Upload {}
  }

  @Override
  public Integer call() throws IOException {
    Job job = job();
    try (Session.Connection server = keep ? session.connect() : session.connectForOneRun()) {
      Sandbox sandbox;
      try (Progress _ = session.console().progress("creating a sandbox")) {
        sandbox = server.carrel().sandboxes().create(shape.options().withEphemeral(true));
      }
      if (keep) {
        session.console().note("sandbox kept: " + sandbox.id());
      } else {
        server.beforeClosing(sandbox::delete);
      }
      return run(sandbox, job);
    }
  }

  private Job job() throws IOException {
    if (code != null) {
      Program program = language == null ? Program.PYTHON : Program.ofLanguage(language);
      return job(program, inline(program, code), words, true);
    }
    if (words.isEmpty()) {
      throw CommandFailure.usage(
          "what to run?", "give a file, - or -c CODE; see carrel run --help");
    }
    List<String> arguments = words.subList(1, words.size());
    if (words.getFirst().equals("-")) {
      Program program = language == null ? Program.PYTHON : Program.ofLanguage(language);
      String text = new String(session.in().readAllBytes(), StandardCharsets.UTF_8);
      return job(program, inline(program, text), arguments, false);
    }
    Path file = Path.of(words.getFirst());
    if (!Files.isRegularFile(file)) {
      throw new CommandFailure("no such file: " + file);
    }
    Program program = language == null ? Program.of(file) : Program.ofLanguage(language);
    return job(program, upload(file), arguments, true);
  }

  private static Job job(Program program, Upload main, List<String> words, boolean stdin)
      throws IOException {
    var places = new HashMap<>(Map.of(main.name(), main));
    var besides = new ArrayList<Upload>();
    var arguments = new ArrayList<String>();
    for (String word : words) {
      Path file = Path.of(word);
      if (Files.isRegularFile(file)) {
        Upload beside = upload(file);
        Upload there = places.putIfAbsent(beside.name(), beside);
        if (there == null) {
          besides.add(beside);
        } else if (!isFile(there, file)) {
          throw new CommandFailure(
              "%s would replace another file of the name %s beside the program"
                  .formatted(file, beside.name()),
              "give one of them another name");
        }
        arguments.add(beside.name());
      } else {
        arguments.add(word);
      }
    }
    return new Job(main, besides, program.command(main.name(), arguments), stdin);
  }

  private static Upload inline(Program program, String text) {
    return new Upload.Text(program.fileName(), text);
  }

  private static Upload upload(Path file) {
    return new Upload.LocalFile(String.valueOf(file.getFileName()), file);
  }

  private static boolean isFile(Upload upload, Path file) throws IOException {
    return upload instanceof Upload.LocalFile(_, Path path) && Files.isSameFile(path, file);
  }

  private int run(Sandbox sandbox, Job job) throws IOException {
    try (Progress _ = session.console().progress("uploading")) {
      put(sandbox, job.program(), "0755");
      for (Upload beside : job.besides()) {
        put(sandbox, beside, "0644");
      }
    }
    ExecOptions options =
        ExecOptions.of(job.command())
            .withStdinOpen(job.stdin())
            // Python keeps what it prints back when it does not see a terminal.
            .withEnv(Map.of("PYTHONUNBUFFERED", "1"));
    var live = new LiveExec(session);
    var collected = new CollectedExec();
    LiveExec.Sink shown = common.json() ? collected : live.streams();
    var changes = new WithChanges(shown);
    int exitCode;
    try (ExecStream exec = live.start(sandbox, options, timeout)) {
      exitCode = live.follow(exec, job.stdin(), changes);
    }
    boolean complete = output == null || fetch(sandbox, changes, output);
    if (common.json()) {
      session.console().json(collected.json());
    }
    return exitCode == 0 && !complete ? Cli.FAILED : exitCode;
  }

  private static void put(Sandbox sandbox, Upload upload, String mode) throws IOException {
    switch (upload) {
      case Upload.Text(String name, String text) ->
          sandbox.files().write(name, text.getBytes(StandardCharsets.UTF_8));
      case Upload.LocalFile(String name, Path path) -> sandbox.files().upload(path, name, mode);
    }
  }

  /** Copies what can be copied: the rest of it is gone with the sandbox. Whether that was all. */
  private boolean fetch(Sandbox sandbox, WithChanges changes, Path folder) {
    Console console = session.console();
    boolean complete = true;
    for (FileChange change : changes.files) {
      if (change.action().equals("deleted") || change.type().equals("dir")) {
        continue;
      }
      try {
        fetch(sandbox, change.path(), folder);
      } catch (CarrelException | IOException | CommandFailure e) {
        console.error(console.safe("not copied: %s: %s".formatted(change.path(), Cli.describe(e))));
        complete = false;
      }
    }
    if (changes.truncated) {
      console.error("more files changed than are listed; those beyond were not copied");
    }
    return complete && !changes.truncated;
  }

  private void fetch(Sandbox sandbox, String path, Path folder) throws IOException {
    Console console = session.console();
    Path target = inside(folder, path);
    // Also pipes, and links that lead nowhere, are among what changed.
    if (sandbox.files().find(path).filter(found -> found.type().equals("file")).isEmpty()) {
      console.note(console.safe("not copied: %s is no file".formatted(path)));
      return;
    }
    Path parent = target.getParent();
    if (parent != null) {
      Files.createDirectories(parent);
    }
    try (InputStream in = sandbox.files().read(path)) {
      Files.copy(in, target, StandardCopyOption.REPLACE_EXISTING);
    }
    console.note("copied " + console.safe(target.toString()));
  }

  /** The name comes from the sandbox: it must not lead out of the folder. */
  static Path inside(Path folder, String path) {
    Path whole = folder.toAbsolutePath().normalize();
    Path target = whole.resolve(path).normalize();
    if (!target.startsWith(whole)) {
      throw new CommandFailure("refusing to write outside " + folder);
    }
    return folder.resolve(whole.relativize(target));
  }

  /** Remembers what changed on the way through. */
  private static final class WithChanges implements LiveExec.Sink {
    private final LiveExec.Sink next;
    private final List<FileChange> files = new ArrayList<>();
    private boolean truncated;

    WithChanges(LiveExec.Sink next) {
      this.next = next;
    }

    @Override
    public void output(ExecEvent.Output event) {
      next.output(event);
    }

    @Override
    public void exited(ExecEvent.Exited exited) {
      files.addAll(exited.filesChanged());
      truncated = exited.filesChangedTruncated();
      next.exited(exited);
    }

    @Override
    public boolean missing(long bytes) {
      return next.missing(bytes);
    }
  }
}
