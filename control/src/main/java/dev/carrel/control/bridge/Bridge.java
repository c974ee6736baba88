package dev.carrel.control.bridge;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.carrel.control.context.CodeError;
import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.Contexts;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.Files;
import dev.carrel.control.files.WriteFile;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Carries values between interpreters, of one sandbox or of two with the same owner and namespace.
 * What a sandbox gives is JSON to us and nothing else: it is read here, bounded, and written anew.
 * Safe for many threads.
 */
public final class Bridge {
  public static final int MAX_BYTES = 16 << 20;

  private static final int MAX_DEPTH = 64;

  /** A value of few bytes can take a hundred as an object. */
  private static final int MAX_VALUES = 500_000;

  /** What is converted is in memory several times over. */
  private static final int AT_ONCE = 2;

  private static final int OF_TENANT_AT_ONCE = 4;

  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private static final JsonMapper JSON =
      JsonMapper.builder(
              JsonFactory.builder()
                  .streamReadConstraints(
                      StreamReadConstraints.builder()
                          .maxNestingDepth(MAX_DEPTH)
                          .maxStringLength(MAX_BYTES)
                          .build())
                  .build())
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .build();

  private final Sandboxes sandboxes;
  private final Contexts contexts;
  private final Files files;
  private final SecureRandom random = new SecureRandom();
  private final Semaphore room = new Semaphore(AT_ONCE, true);
  private final Map<String, Semaphore> tenants = new ConcurrentHashMap<>();

  public Bridge(Sandboxes sandboxes, Contexts contexts, Files files) {
    this.sandboxes = sandboxes;
    this.contexts = contexts;
    this.files = files;
  }

  /** A value, and how many bytes it took on its way. */
  public record Carried(JsonNode value, long bytes) {}

  /** What a variable holds. */
  public Carried get(Caller caller, Variable from, Form form)
      throws IOException, InterruptedException {
    String path = place();
    run(caller, from, Snippets.write(from.language(), form, from.name(), path));
    try {
      return inTurn(
          ofTenant(caller),
          () -> {
            byte[] bytes = content(caller, from, path);
            return new Carried(inTurn(room, () -> value(from, form, bytes)), bytes.length);
          });
    } finally {
      files.remove(caller, from.sandbox(), path, false, true);
    }
  }

  /**
   * Gives a variable a value, whatever it held before.
   *
   * @return how many bytes it took on its way
   */
  public long set(Caller caller, Variable to, Form form, JsonNode value)
      throws IOException, InterruptedException {
    String path = place();
    String code = Snippets.read(to.language(), form, to.name(), path);
    long bytes =
        inTurn(
            ofTenant(caller),
            () -> put(caller, to, path, inTurn(room, () -> bytes(to, form, value))));
    take(caller, to, code, path);
    return bytes;
  }

  /**
   * Carries what one variable holds to another.
   *
   * @return how many bytes it took on its way
   */
  public long copy(Caller caller, Variable from, Variable to, Form form)
      throws IOException, InterruptedException {
    requireNear(caller, from, to);
    String source = place();
    String target = place();
    String code = Snippets.read(to.language(), form, to.name(), target);
    run(caller, from, Snippets.write(from.language(), form, from.name(), source));
    // Forgotten again before the other interpreter is waited for.
    long bytes;
    try {
      bytes =
          inTurn(
              ofTenant(caller),
              () -> {
                byte[] given = content(caller, from, source);
                return put(caller, to, target, converted(from, to, form, given));
              });
    } finally {
      files.remove(caller, from.sandbox(), source, false, true);
    }
    take(caller, to, code, target);
    return bytes;
  }

  private byte[] converted(Variable from, Variable to, Form form, byte[] bytes)
      throws IOException, InterruptedException {
    return inTurn(room, () -> bytes(to, form, value(from, form, bytes)));
  }

  private void requireNear(Caller caller, Variable from, Variable to) {
    if (from.sandbox().equals(to.sandbox())) {
      return;
    }
    Sandbox source = sandboxes.get(caller, from.sandbox());
    Sandbox target = sandboxes.get(caller, to.sandbox());
    if (!source.tenant().equals(target.tenant())
        || !source.owner().equals(target.owner())
        || !source.namespace().equals(target.namespace())) {
      throw new SandboxException(
              ErrorCode.FORBIDDEN, "Session '" + to.sandbox() + "' belongs to another conversation")
          .withHint("values go only between sandboxes of the same owner and namespace");
    }
  }

  private interface Work<T> {
    T run() throws IOException, InterruptedException;
  }

  /** What a sandbox that stands still keeps waiting is of its own tenant. */
  private Semaphore ofTenant(Caller caller) {
    return tenants.computeIfAbsent(caller.tenant(), _ -> new Semaphore(OF_TENANT_AT_ONCE, true));
  }

  private static <T> T inTurn(Semaphore turns, Work<T> work)
      throws IOException, InterruptedException {
    turns.acquire();
    try {
      return work.run();
    } finally {
      turns.release();
    }
  }

  private static byte[] bytes(Variable to, Form form, JsonNode value) {
    if (form == Form.TABLE) {
      Tables.check(value);
    }
    byte[] bytes = written(to.language(), form, value).getBytes(StandardCharsets.UTF_8);
    if (bytes.length > MAX_BYTES) {
      throw tooLarge();
    }
    return bytes;
  }

  private long put(Caller caller, Variable to, String path, byte[] bytes) throws IOException {
    files.write(caller, to.sandbox(), path, new ByteArrayInputStream(bytes), WriteFile.plain());
    return bytes.length;
  }

  private void take(Caller caller, Variable to, String code, String path)
      throws InterruptedException {
    try {
      run(caller, to, code);
    } finally {
      files.remove(caller, to.sandbox(), path, false, true);
    }
  }

  private String place() {
    byte[] name = new byte[16];
    random.nextBytes(name);
    return "/tmp/.carrel-bridge-" + HexFormat.of().formatHex(name);
  }

  private void run(Caller caller, Variable variable, String code) throws InterruptedException {
    CodeResult result =
        contexts.execute(
            caller,
            variable.sandbox(),
            new ExecuteCode(code, variable.language(), variable.context(), PATIENCE));
    if (result.success()) {
      return;
    }
    CodeError error = result.error();
    throw new SandboxException(
            ErrorCode.INVALID_INPUT,
            "%s of %s cannot be carried: %s"
                .formatted(
                    variable.name(),
                    variable.language().wireName(),
                    error == null
                        ? "the interpreter did not answer in time"
                        : Text.printable(error.type() + ": " + error.message(), 500)))
        .withHint("look at the variable in its own language first");
  }

  private byte[] content(Caller caller, Variable from, String path) throws IOException {
    try (FileDownload file = files.read(caller, from.sandbox(), path, null)) {
      if (file.length() > MAX_BYTES) {
        throw tooLarge();
      }
      var bytes = new ByteArrayOutputStream((int) file.length());
      file.transferTo(bytes);
      return bytes.toByteArray();
    } catch (SandboxException e) {
      if (e.code() == ErrorCode.FILE_NOT_FOUND) {
        throw new SandboxException(
            ErrorCode.INVALID_INPUT,
            from.name() + " is not set in " + from.language().wireName(),
            e);
      }
      throw e;
    }
  }

  private static JsonNode value(Variable from, Form form, byte[] bytes) throws IOException {
    JsonNode value = parsed(from, bytes);
    if (form == Form.TABLE) {
      Tables.check(value);
    }
    return value;
  }

  static JsonNode parsed(Variable from, byte[] bytes) throws IOException {
    @Nullable JsonNode value;
    try {
      count(bytes);
      value = JSON.readTree(bytes);
    } catch (JsonProcessingException e) {
      value = null;
    }
    if (from.language() == Language.BASH) {
      // Everything is text there: what reads as JSON is taken for it.
      String text = new String(bytes, StandardCharsets.UTF_8);
      return value == null || value.isMissingNode() ? TextNode.valueOf(text) : value;
    }
    if (value == null || value.isMissingNode()) {
      throw new SandboxException(
          ErrorCode.INVALID_INPUT, "what came of " + from.name() + " is no JSON");
    }
    return value;
  }

  /** Throws when the first value has too many in it; what comes after it is not looked at. */
  private static void count(byte[] bytes) throws IOException {
    try (JsonParser parser = JSON.createParser(bytes)) {
      int values = 0;
      do {
        JsonToken token = parser.nextToken();
        if (token == null) {
          return;
        }
        if (token.isScalarValue() || token.isStructStart()) {
          values++;
        }
        if (values > MAX_VALUES) {
          throw new SandboxException(
                  ErrorCode.TOO_LARGE, "at most " + MAX_VALUES + " values can be carried at once")
              .withHint("carry parts of it, or write it to a file that both read");
        }
      } while (!parser.getParsingContext().inRoot());
    }
  }

  private static String written(Language language, Form form, JsonNode value) {
    return switch (language) {
      case PYTHON, NODE -> value.toString();
      case R -> form == Form.TABLE ? RCode.table(value) : RCode.of(value);
      case BASH -> value.isTextual() ? value.textValue() : value.toString();
    };
  }

  static SandboxException tooLarge() {
    return new SandboxException(
            ErrorCode.TOO_LARGE, "a value has at most " + MAX_BYTES + " bytes on its way")
        .withHint("write it to a file that both read");
  }
}
