package dev.carrel.control.sandbox;

import dev.carrel.egress.Policy;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Limits;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A sandbox being changed: the fields that can change, the others as they were. */
final class SandboxDraft {
  private final Sandbox before;
  private SandboxStatus status;
  private long generation;
  private @Nullable Isolation isolation;
  private Limits limits;
  private Sandbox.Expiry expiry;
  private Policy network;
  private Map<String, String> envVars;
  private Map<String, String> metadata;
  private @Nullable String frozen;
  private Sandbox.@Nullable Volume volume;
  private Instant lastActivityAt;
  private @Nullable Instant startedAt;
  private @Nullable Instant stoppedAt;
  private Sandbox.Counters counters;
  private @Nullable Failure failure;

  SandboxDraft(Sandbox before) {
    this.before = before;
    this.status = before.status();
    this.generation = before.generation();
    this.isolation = before.isolation();
    this.limits = before.limits();
    this.expiry = before.expiry();
    this.network = before.network();
    this.envVars = before.envVars();
    this.metadata = before.metadata();
    this.frozen = before.frozen();
    this.volume = before.volume();
    this.lastActivityAt = before.lastActivityAt();
    this.startedAt = before.startedAt();
    this.stoppedAt = before.stoppedAt();
    this.counters = before.counters();
    this.failure = before.failure();
  }

  /** The generation moves on as the row's does. */
  SandboxDraft status(SandboxStatus newStatus) {
    status = newStatus;
    generation = before.generation() + 1;
    return this;
  }

  SandboxDraft applied(Isolation newIsolation, Limits newLimits) {
    isolation = newIsolation;
    limits = newLimits;
    return this;
  }

  SandboxDraft limits(Limits newLimits) {
    limits = newLimits;
    return this;
  }

  SandboxDraft expiry(Sandbox.Expiry newExpiry) {
    expiry = newExpiry;
    return this;
  }

  SandboxDraft network(Policy newNetwork) {
    network = newNetwork;
    return this;
  }

  SandboxDraft labels(Map<String, String> newEnvVars, Map<String, String> newMetadata) {
    envVars = newEnvVars;
    metadata = newMetadata;
    return this;
  }

  SandboxDraft volume(Sandbox.@Nullable Volume newVolume) {
    volume = newVolume;
    return this;
  }

  SandboxDraft frozen(@Nullable String why) {
    frozen = why;
    return this;
  }

  SandboxDraft started(Instant when) {
    frozen = null;
    startedAt = when;
    stoppedAt = null;
    failure = null;
    return this;
  }

  SandboxDraft ended(@Nullable Instant when, @Nullable Failure why) {
    stoppedAt = when;
    failure = why;
    return this;
  }

  SandboxDraft activity(Instant newLastActivityAt, Sandbox.Counters newCounters) {
    lastActivityAt = newLastActivityAt;
    counters = newCounters;
    return this;
  }

  Sandbox build() {
    return new Sandbox(
        before.id(),
        before.tenant(),
        before.owner(),
        before.namespace(),
        status,
        generation,
        before.image(),
        before.engine(),
        before.runtime(),
        isolation,
        limits,
        expiry,
        network,
        before.isolated(),
        before.rootfs(),
        envVars,
        metadata,
        before.sessionKey(),
        before.secrets(),
        frozen,
        volume,
        before.createdAt(),
        lastActivityAt,
        startedAt,
        stoppedAt,
        counters,
        failure);
  }
}
