package dev.carrel.control.context;

import static dev.carrel.control.ControlFixture.ALICE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.Engine;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Test;

/** An engine that should fork interpreters and cannot even say why not. */
final class BrokenForksIT {
  @Test
  void contextStartsFromScratchWhenItsEngineFailsToFork() throws Exception {
    try (var fixture =
        new ControlFixture("process", settings -> settings, BrokenForksIT::withoutForks)) {
      Sandbox sandbox = fixture.sandbox();

      CodeResult result =
          fixture
              .control()
              .contexts()
              .execute(ALICE, sandbox.id(), ExecuteCode.of(Language.PYTHON, "1 + 1"));

      assertThat(result.success()).isTrue();
      assertThat(fixture.control().telemetry().snapshot()).containsKey("kernel_forks_failed");
    }
  }

  private static Engine withoutForks(Engine engine) {
    return proxy(
        Engine.class,
        (method, arguments) -> {
          Object result = call(engine, method, arguments);
          return result instanceof Machine machine ? withoutForks(machine) : result;
        });
  }

  private static Machine withoutForks(Machine machine) {
    return proxy(
        Machine.class,
        (method, arguments) -> {
          if (method.getName().equals("fork")) {
            throw new SandboxException(ErrorCode.ENGINE_FAILED, "the spawn server gave no answer");
          }
          return call(machine, method, arguments);
        });
  }

  private static Object call(Object target, Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(target, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  private static <T> T proxy(Class<T> type, Call call) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (_, method, arguments) -> call.of(method, arguments)));
  }

  private interface Call {
    Object of(Method method, Object[] arguments) throws Throwable;
  }
}
