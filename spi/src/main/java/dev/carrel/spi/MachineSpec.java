package dev.carrel.spi;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * What an engine needs to start one machine.
 *
 * @param egressSocket host socket of this sandbox's proxy; the guest relays 127.0.0.1:3128 to it.
 *     Null: no way out at all
 */
public record MachineSpec(RootImage image, Limits limits, @Nullable Path egressSocket) {}
