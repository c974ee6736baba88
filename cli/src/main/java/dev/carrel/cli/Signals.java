package dev.carrel.cli;

import java.lang.invoke.MethodHandleProxies;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;

/**
 * Signals of this process, through the JDK's sun.misc.Signal. By reflection, since javac warns
 * about that class in a way that cannot be switched off and the build takes no warnings.
 */
final class Signals {
  private Signals() {}

  /** Runs {@code action} at each signal until closed; then what was before is back. */
  static Handling handle(String name, Runnable action) {
    try {
      Class<?> signalType = Class.forName("sun.misc.Signal");
      Class<?> handlerType = Class.forName("sun.misc.SignalHandler");
      Method handle = signalType.getMethod("handle", signalType, handlerType);
      Object signal = signalType.getConstructor(String.class).newInstance(name);
      var run =
          MethodHandles.lookup()
              .findVirtual(Runnable.class, "run", MethodType.methodType(void.class))
              .bindTo(action);
      Object handler =
          MethodHandleProxies.asInterfaceInstance(
              handlerType, MethodHandles.dropArguments(run, 0, signalType));
      Object before = handle.invoke(null, signal, handler);
      return () -> restore(handle, signal, before);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this JDK has no sun.misc.Signal", e);
    }
  }

  private static void restore(Method handle, Object signal, Object before) {
    try {
      handle.invoke(null, signal, before);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("cannot restore a signal handler", e);
    }
  }

  /** A handler that is in force. */
  interface Handling extends AutoCloseable {
    @Override
    void close();
  }
}
