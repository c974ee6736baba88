package dev.carrel.control.context;

import dev.carrel.control.exec.CapturedText;
import dev.carrel.control.exec.Causes;
import dev.carrel.control.exec.HeadTail;
import dev.carrel.control.exec.MemoryRoom;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent.Cause;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * One execution of code. The kernel's reader fills it, one thread waits for it; what a cell may
 * keep in memory is bounded whatever the kernel sends.
 */
final class Cell {
  private static final List<String> RICHEST_FIRST =
      List.of(
          "text/html",
          "image/svg+xml",
          "image/png",
          "image/jpeg",
          "audio/wav",
          "audio/mpeg",
          "audio/ogg",
          "video/mp4",
          "application/json",
          "text/markdown",
          "text/latex");
  private static final int MAX_DISPLAYS = 1000;
  private static final int MAX_TYPE_CHARS = 200;

  private final int id;
  private final ContextId context;
  private final Language language;
  private final long executionCount;
  private final ContextSettings settings;
  private final MemoryRoom.Share room;
  private final @Nullable CellSink events;
  private final HeadTail stdout;
  private final HeadTail stderr;
  private final List<MimeBundle.Item> displays = new ArrayList<>();
  private final CountDownLatch done = new CountDownLatch(1);
  private final long begin = System.nanoTime();
  private final Duration queued;
  private final @Nullable String note;
  private long displayBytes;
  private @Nullable MimeBundle result;
  private @Nullable CodeError error;
  private boolean truncated;
  private volatile boolean timedOut;
  private UnaryOperator<CodeResult> whenOver = UnaryOperator.identity();
  private volatile @Nullable CodeResult folded;

  Cell(
      int id,
      LiveContext context,
      ContextSettings settings,
      MemoryRoom.Share room,
      @Nullable CellSink events,
      Duration queued,
      @Nullable String note) {
    this.id = id;
    this.context = context.id();
    this.language = context.language();
    this.executionCount = context.nextExecution();
    this.settings = settings;
    this.room = room;
    this.events = events;
    this.stdout = new HeadTail(settings.stdoutChars(), room::take);
    this.stderr = new HeadTail(settings.stderrChars(), room::take);
    this.queued = queued;
    this.note = note;
  }

  int id() {
    return id;
  }

  Duration age() {
    return Duration.ofNanos(System.nanoTime() - begin);
  }

  void output(Channel channel, ByteBuffer bytes) throws InterruptedException {
    (channel == Channel.STDOUT ? stdout : stderr).add(bytes);
    tell(new CodeEvent.Output(channel, bytes));
  }

  /** Whether a value of this size may be kept; what may not is declared. */
  boolean takeRoom(int bytes) {
    boolean fits =
        bytes <= settings.maxFrame().bytes()
            && displayBytes + bytes <= settings.maxDisplay().bytes()
            && displays.size() < MAX_DISPLAYS
            && room.take(bytes);
    if (fits) {
      displayBytes += bytes;
    } else {
      truncated = true;
    }
    return fits;
  }

  void result(MimeBundle bundle) throws InterruptedException {
    if (result == null) {
      result = shortened(bundle);
      tell(new CodeEvent.Result(result));
    }
  }

  void display(MimeBundle bundle) throws InterruptedException {
    richest(bundle).ifPresent(displays::add);
    tell(new CodeEvent.Display(bundle));
  }

  void failed(CodeError raw) throws InterruptedException {
    if (error == null) {
      error =
          new CodeError(
              HeadTail.shorten(raw.type(), MAX_TYPE_CHARS),
              HeadTail.shorten(raw.message(), settings.tracebackChars()),
              HeadTail.shorten(raw.traceback(), settings.tracebackChars()));
      tell(new CodeEvent.Failed(error));
    }
  }

  /** The kernel says the cell is over; the interpreter lives on. */
  void done(KernelEvent.Status status) throws InterruptedException {
    CodeError why = error;
    if (timedOut) {
      why = timeout(why == null ? "" : why.traceback());
    } else if (status != KernelEvent.Status.OK && why == null) {
      why = new CodeError("Error", "the cell failed and did not say why", "");
    }
    boolean interrupted = status == KernelEvent.Status.INTERRUPTED && !timedOut;
    String hint =
        timedOut
            ? "the cell was interrupted and the state kept; raise timeout_seconds if it needs more"
            : note;
    finish(
        status == KernelEvent.Status.OK && !timedOut,
        why,
        CodeResult.State.KEPT,
        timedOut ? Cause.TIMED_OUT : Cause.RETURNED,
        interrupted,
        hint);
  }

  /** The interpreter is gone, and the state with it. */
  void died(Death death) throws InterruptedException {
    Cause cause = timedOut ? Cause.TIMED_OUT : death.cause();
    CodeError why =
        timedOut
            ? timeout(error == null ? "" : error.traceback())
            : new CodeError(death.errorType(), death.message(), "");
    String hint =
        "the interpreter ended and its variables are gone; the next cell starts a fresh one";
    String more = timedOut ? null : Causes.hint(cause, death.signal());
    if (error == null) {
      tell(new CodeEvent.Failed(why));
    }
    finish(
        false, why, CodeResult.State.LOST, cause, false, more == null ? hint : hint + "; " + more);
  }

  /**
   * Called once with the result, before anybody else learns of it; what it returns is what they
   * learn. To be set before it runs.
   */
  void whenOver(UnaryOperator<CodeResult> action) {
    whenOver = action;
  }

  void timedOut() {
    timedOut = true;
  }

  /** From now on a slow reader holds nothing up. */
  void stopWaiting() {
    if (events != null) {
      events.drop();
    }
  }

  boolean await(Duration time) throws InterruptedException {
    return done.await(time.toNanos(), TimeUnit.NANOSECONDS);
  }

  CodeResult await() throws InterruptedException {
    done.await();
    CodeResult all = folded;
    if (all == null) {
      throw shuttingDown();
    }
    return all;
  }

  /** Nobody listens to the kernel any more, though the cell goes on. */
  void abandon() {
    if (events != null) {
      events.abandon();
    }
    done.countDown();
  }

  static SandboxException shuttingDown() {
    return new SandboxException(ErrorCode.SHUTTING_DOWN, "the server is shutting down")
        .withHint("the interpreter keeps its state; go on when the server is back");
  }

  private void finish(
      boolean success,
      @Nullable CodeError why,
      CodeResult.State state,
      Cause cause,
      boolean interrupted,
      @Nullable String hint)
      throws InterruptedException {
    if (result != null) {
      // A rich value comes with its forms and not as a display of its own.
      richest(result).filter(item -> !item.mime().equals("text/plain")).ifPresent(displays::add);
    }
    CapturedText out = stdout.text();
    CapturedText err = stderr.text();
    var all =
        new CodeResult(
            success,
            out,
            err,
            result,
            why,
            displays,
            executionCount,
            state,
            context,
            language,
            queued,
            age(),
            cause,
            timedOut,
            interrupted,
            truncated,
            hint);
    CodeResult last = whenOver.apply(all);
    folded = last;
    done.countDown();
    tell(new CodeEvent.Done(last));
  }

  private CodeError timeout(String traceback) {
    return new CodeError(
        "TimeoutError", "the cell was stopped after %d ms".formatted(age().toMillis()), traceback);
  }

  private void tell(CodeEvent event) throws InterruptedException {
    if (events != null) {
      events.put(event);
    }
  }

  private MimeBundle shortened(MimeBundle bundle) {
    return new MimeBundle(
        bundle.items().stream()
            .map(
                item -> {
                  if (!item.mime().equals("text/plain")) {
                    return item;
                  }
                  String text = item.text();
                  String shorter = HeadTail.shorten(text, settings.resultChars());
                  if (shorter.length() == text.length()) {
                    return item;
                  }
                  truncated = true;
                  return new MimeBundle.Item(item.mime(), shorter.getBytes(StandardCharsets.UTF_8));
                })
            .toList());
  }

  private static Optional<MimeBundle.Item> richest(MimeBundle bundle) {
    for (String mime : RICHEST_FIRST) {
      var found = bundle.find(mime);
      if (found.isPresent()) {
        return found;
      }
    }
    return bundle.items().stream()
        .filter(item -> !item.mime().equals("text/plain"))
        .findFirst()
        .or(() -> bundle.items().stream().findFirst());
  }

  /**
   * How an interpreter ended.
   *
   * @param errorType for the cell that was running
   */
  record Death(Cause cause, @Nullable Integer signal, String errorType, String message) {}
}
