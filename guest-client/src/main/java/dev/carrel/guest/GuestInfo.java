package dev.carrel.guest;

import java.time.Duration;

/**
 * A guest's answer to a ping.
 *
 * @param version of the protocol it speaks
 * @param processes live execs
 */
public record GuestInfo(int version, Duration uptime, int processes) {}
