package dev.carrel.control.sandbox;

import static dev.carrel.control.sandbox.SandboxStatus.CREATING;
import static dev.carrel.control.sandbox.SandboxStatus.DESTROYED;
import static dev.carrel.control.sandbox.SandboxStatus.FAILED;
import static dev.carrel.control.sandbox.SandboxStatus.PAUSED;
import static dev.carrel.control.sandbox.SandboxStatus.RUNNING;
import static dev.carrel.control.sandbox.SandboxStatus.STOPPED;

import java.util.Set;

/**
 * The changes of status that exist. Every status has a way out, every one can be left for
 * destroyed, and destroyed is the end.
 */
final class Transitions {
  private Transitions() {}

  static Set<SandboxStatus> from(SandboxStatus status) {
    return switch (status) {
      case CREATING -> Set.of(RUNNING, FAILED, DESTROYED);
      case RUNNING -> Set.of(PAUSED, STOPPED, FAILED, DESTROYED);
      case PAUSED -> Set.of(RUNNING, STOPPED, FAILED, DESTROYED);
      case STOPPED, FAILED -> Set.of(CREATING, DESTROYED);
      case DESTROYED -> Set.of();
    };
  }

  static boolean exists(SandboxStatus from, SandboxStatus to) {
    return from(from).contains(to);
  }
}
