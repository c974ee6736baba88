package dev.carrel.control.egress;

import java.net.InetSocketAddress;
import java.nio.file.Path;

/**
 * The proxy over TCP, for who cannot reach a socket of the host.
 *
 * @param listen port 0: any
 * @param key what signs tokens; made when there is none
 */
public record TokenSettings(InetSocketAddress listen, Path key) {}
