package dev.carrel.egress;

import java.nio.ByteBuffer;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/** Buffers outside the heap, used again and again. */
final class Buffers {
  static final int SIZE = 64 * 1024;
  private static final int KEPT = 128;

  private final BlockingQueue<ByteBuffer> free = new ArrayBlockingQueue<>(KEPT);

  ByteBuffer take() {
    ByteBuffer kept = free.poll();
    return kept == null ? ByteBuffer.allocateDirect(SIZE) : kept.clear();
  }

  /** The giver must not use it any more. */
  void giveBack(ByteBuffer buffer) {
    free.offer(buffer);
  }
}
