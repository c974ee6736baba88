package dev.carrel.guest;

import java.io.IOException;
import java.nio.channels.ByteChannel;

/** Opens a fresh connection to one guest; {@code machine::openGuest} is the usual one. */
@FunctionalInterface
public interface GuestConnector {
  ByteChannel open() throws IOException;
}
