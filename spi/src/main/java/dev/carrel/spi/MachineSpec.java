package dev.carrel.spi;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * What an engine needs to start one machine.
 *
 * @param egressSocket host socket of this sandbox's proxy; the guest relays 127.0.0.1:3128 to it.
 *     Null: no way out at all
 * @param volume what to use as /workspace; made, as large as {@link Limits#disk}, when it does not
 *     exist. Null: files are in memory and end with the machine
 */
public record MachineSpec(
    RootImage image, Limits limits, @Nullable Path egressSocket, @Nullable VolumeId volume) {}
