package dev.carrel.egress;

import static java.lang.foreign.MemoryLayout.structLayout;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * Calls of the C library that the JDK has no door to. None of them waits, except {@link #poll} as
 * long as it was told: a virtual thread that makes it holds its carrier meanwhile. Results are as
 * the library's, with the negated errno instead of -1. Where something is missing, in the library
 * or in how this JVM was started, the class does not initialise.
 */
@SuppressWarnings("restricted") // that is what --enable-native-access is there for
final class Libc {
  // All of these are the same on amd64 and arm64.
  static final int NO_PERMISSION = 1;
  static final int NOT_YET = 11; // EAGAIN
  static final int NO_SUCH_CALL = 38;
  static final int INVALID = 22;
  static final short READABLE = 1; // POLLIN
  static final short WRITABLE = 4; // POLLOUT
  private static final int DUPLICATE = 1030; // F_DUPFD_CLOEXEC
  private static final int FLAGS = 3; // F_GETFL
  private static final int SET_PIPE_SIZE = 1031;
  private static final int NONBLOCK = 0x800;
  private static final int CLOSE_ON_EXEC = 0x80000;
  private static final int MOVE_WITHOUT_WAITING = 1 | 2;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final Linker.Option CAPTURED = Linker.Option.captureCallState("errno");
  private static final StructLayout STATE = Linker.Option.captureStateLayout();
  private static final StructLayout POLLED =
      structLayout(
          JAVA_INT.withName("fd"), JAVA_SHORT.withName("events"), JAVA_SHORT.withName("revents"));
  private static final VarHandle ERRNO = STATE.varHandle(PathElement.groupElement("errno"));

  private static final MethodHandle PIPE = bind("pipe2", JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle CLOSE = bind("close", JAVA_INT, JAVA_INT);
  private static final MethodHandle READ = bind("read", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG);
  private static final MethodHandle CONTROL =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("fcntl"),
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT),
          CAPTURED,
          Linker.Option.firstVariadicArg(2));
  private static final MethodHandle SPLICE =
      bind("splice", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);
  private static final MethodHandle POLL = bind("poll", JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);
  private static final MethodHandle NUMBER = number();

  private Libc() {}

  private static MethodHandle bind(String name, ValueLayout result, ValueLayout... parameters) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name),
        FunctionDescriptor.of(result, parameters),
        CAPTURED);
  }

  /** The one thing of the JDK's inside that is used: how the kernel calls a channel's socket. */
  private static MethodHandle number() {
    try {
      return MethodHandles.lookup()
          .unreflect(Class.forName("sun.nio.ch.SelChImpl").getMethod("getFDVal"));
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(
          "start the JVM with --add-exports=java.base/sun.nio.ch=ALL-UNNAMED", e);
    }
  }

  /** Where calls leave their errno; for one thread at a time. */
  static MemorySegment state() {
    return Arena.ofAuto().allocate(STATE);
  }

  /**
   * A descriptor of the same socket that stays the socket's, whatever becomes of the channel. The
   * channel must not be closed meanwhile: its number could be another's by then.
   */
  static int duplicate(MemorySegment state, SocketChannel channel) {
    return control(state, numberOf(channel), DUPLICATE, 0);
  }

  private static int numberOf(SocketChannel channel) {
    try {
      return (int) NUMBER.invoke(channel);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  static boolean waits(MemorySegment state, int descriptor) {
    int flags = control(state, descriptor, FLAGS, 0);
    return flags < 0 || (flags & NONBLOCK) == 0;
  }

  /** A pipe's two ends, to read from and to write to; a smaller one where this size is too much. */
  static int pipe(MemorySegment state, int[] ends, int size) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment two = arena.allocate(JAVA_INT, 2);
      int result = result(state, (int) PIPE.invokeExact(state, two, CLOSE_ON_EXEC | NONBLOCK));
      if (result == 0) {
        ends[0] = two.getAtIndex(JAVA_INT, 0);
        ends[1] = two.getAtIndex(JAVA_INT, 1);
        control(state, ends[1], SET_PIPE_SIZE, size);
      }
      return result;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  static long splice(MemorySegment state, int from, int to, long most) {
    try {
      return result(
          state,
          (long)
              SPLICE.invokeExact(
                  state,
                  from,
                  MemorySegment.NULL,
                  to,
                  MemorySegment.NULL,
                  most,
                  MOVE_WITHOUT_WAITING));
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** What {@link #poll} needs; for one thread at a time. */
  static MemorySegment polled() {
    return Arena.ofAuto().allocate(POLLED);
  }

  /**
   * Waits until a descriptor is as asked for, broken or at its end; 0 when it is none of these in
   * time.
   *
   * @param events {@link #READABLE} or {@link #WRITABLE}
   */
  static int poll(
      MemorySegment state, MemorySegment polled, int descriptor, short events, int millis) {
    try {
      polled.set(JAVA_INT, 0, descriptor);
      polled.set(JAVA_SHORT, JAVA_INT.byteSize(), events);
      return result(state, (int) POLL.invokeExact(state, polled, 1L, millis));
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /**
   * @param buffer outside the heap; its position moves
   */
  static long read(MemorySegment state, int from, ByteBuffer buffer) {
    try {
      long most = buffer.remaining();
      long got =
          result(state, (long) READ.invokeExact(state, from, MemorySegment.ofBuffer(buffer), most));
      if (got > 0) {
        buffer.position(buffer.position() + (int) got);
      }
      return got;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  static void close(MemorySegment state, int descriptor) {
    try {
      // Linux has closed it even where it reports an error.
      int _ = (int) CLOSE.invokeExact(state, descriptor);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static int control(MemorySegment state, int descriptor, int command, int argument) {
    try {
      return result(state, (int) CONTROL.invokeExact(state, descriptor, command, argument));
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static int result(MemorySegment state, int value) {
    return value < 0 ? -(int) ERRNO.get(state, 0L) : value;
  }

  private static long result(MemorySegment state, long value) {
    return value < 0 ? -(int) ERRNO.get(state, 0L) : value;
  }

  /** A call into C throws nothing. */
  private static IllegalStateException unexpected(Throwable thrown) {
    if (thrown instanceof Error error) {
      throw error;
    }
    return new IllegalStateException(thrown);
  }
}
