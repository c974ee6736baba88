package dev.carrel.control.skill;

import dev.carrel.spi.Engine;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxId;
import java.io.InterruptedIOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** A real engine, some of whose guests take no new connection for a while. */
final class StandingGuests {
  private final Set<SandboxId> standing = ConcurrentHashMap.newKeySet();
  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicInteger givenUp = new AtomicInteger();
  private final CountDownLatch over = new CountDownLatch(1);

  void stand(List<SandboxId> ids) {
    standing.addAll(ids);
  }

  void goOn() {
    over.countDown();
  }

  /** How many wait for such a guest now. */
  int waiting() {
    return waiting.get();
  }

  /** How many waited for one in vain. */
  int givenUp() {
    return givenUp.get();
  }

  Engine around(Engine engine) {
    return proxy(
        Engine.class,
        (_, method, arguments) -> {
          Object result = call(engine, method, arguments);
          return result instanceof Machine machine ? around(machine) : result;
        });
  }

  private Machine around(Machine machine) {
    return proxy(
        Machine.class,
        (_, method, arguments) -> {
          if (method.getName().equals("openGuest") && standing.contains(machine.id())) {
            await();
          }
          return call(machine, method, arguments);
        });
  }

  private void await() throws InterruptedIOException {
    waiting.incrementAndGet();
    try {
      over.await();
    } catch (InterruptedException e) {
      givenUp.incrementAndGet();
      throw new InterruptedIOException("nobody waits any longer");
    } finally {
      waiting.decrementAndGet();
    }
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
