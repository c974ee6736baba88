package dev.carrel.control;

import dev.carrel.spi.Engine;
import dev.carrel.spi.Machine;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.channels.ByteChannel;
import java.util.function.UnaryOperator;

/** A real engine to whose new machines something happens before they do what they are asked. */
public final class ChangedMachines {
  private ChangedMachines() {}

  /** What happens; when it throws, the machine is not asked. */
  public interface Before {
    void asked(Machine machine, String method) throws Exception;
  }

  public static Engine of(Engine engine, Before before) {
    return of(engine, before, guest -> guest);
  }

  /**
   * @param guests what is seen instead of a connection to a guest
   */
  public static Engine of(Engine engine, UnaryOperator<ByteChannel> guests) {
    return of(engine, (_, _) -> {}, guests);
  }

  private static Engine of(Engine engine, Before before, UnaryOperator<ByteChannel> guests) {
    return proxy(
        Engine.class,
        (_, method, arguments) -> {
          Object result = call(engine, method, arguments);
          return result instanceof Machine machine ? changed(machine, before, guests) : result;
        });
  }

  private static Machine changed(
      Machine machine, Before before, UnaryOperator<ByteChannel> guests) {
    return proxy(
        Machine.class,
        (_, method, arguments) -> {
          before.asked(machine, method.getName());
          Object result = call(machine, method, arguments);
          return result instanceof ByteChannel guest ? guests.apply(guest) : result;
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
