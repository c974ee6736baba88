package dev.carrel.control;

import dev.carrel.spi.Engine;
import dev.carrel.spi.Machine;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/** A real engine to whose new machines something happens before they do what they are asked. */
public final class ChangedMachines {
  private ChangedMachines() {}

  /** What happens; when it throws, the machine is not asked. */
  public interface Before {
    void asked(Machine machine, String method) throws Exception;
  }

  public static Engine of(Engine engine, Before before) {
    return proxy(
        Engine.class,
        (_, method, arguments) -> {
          Object result = call(engine, method, arguments);
          return result instanceof Machine machine ? changed(machine, before) : result;
        });
  }

  private static Machine changed(Machine machine, Before before) {
    return proxy(
        Machine.class,
        (_, method, arguments) -> {
          before.asked(machine, method.getName());
          return call(machine, method, arguments);
        });
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }

  private static Object call(Object on, Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(on, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
