package dev.carrel.egress;

import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The way to the proxy over TCP. Whoever comes through it shows a token with every request, as the
 * password of {@code http://sandbox:jwt_TOKEN@host:port}; who shows none, or a wrong one, is
 * nobody.
 */
public final class TokenDoor {
  private static final String BASIC = "basic ";
  private static final String PREFIX = "jwt_";

  private final ServerSocketChannel listener;
  private final Tokens tokens;
  private final Keeper keeper;
  private final Set<Arrival> arrivals = ConcurrentHashMap.newKeySet();

  /** Who knows the sandboxes; must not block. */
  public interface Keeper {
    /** The gate of a sandbox's present machine; null when it has no such machine. */
    @Nullable Gate find(Tokens.Bearer bearer);

    /** Somebody was turned away who may be anybody. */
    void refused(String from, String why);
  }

  TokenDoor(ServerSocketChannel listener, Tokens tokens, Keeper keeper) {
    this.listener = listener;
    this.tokens = tokens;
    this.keeper = keeper;
  }

  ServerSocketChannel listener() {
    return listener;
  }

  /** Those that have not shown a token yet. */
  Set<Arrival> arrivals() {
    return arrivals;
  }

  Keeper keeper() {
    return keeper;
  }

  /** Whose request it is, and through which gate it goes. */
  record Admitted(Gate gate, Tokens.Bearer bearer) {}

  Admitted admit(HttpHead head) throws RefusedException {
    List<String> given = head.values("Proxy-Authorization");
    if (given.isEmpty()) {
      throw new RefusedException(Reason.TOKEN, "there is no token with the request");
    }
    if (given.size() > 1) {
      throw new RefusedException(Reason.TOKEN, "there is more than one token with the request");
    }
    Tokens.Bearer bearer = tokens.read(password(given.getFirst()));
    Gate gate = keeper.find(bearer);
    if (gate == null) {
      throw Tokens.refused("is of a sandbox or a start of it that is over");
    }
    return new Admitted(gate, bearer);
  }

  /** As {@link #admit}, on a connection that belongs to a gate already. */
  Tokens.Bearer require(HttpHead head, Gate gate) throws RefusedException {
    Admitted admitted = admit(head);
    if (!admitted.gate().equals(gate)) {
      throw Tokens.refused("is another one than this connection began with");
    }
    return admitted.bearer();
  }

  private static String password(String value) throws RefusedException {
    if (value.toLowerCase(Locale.ROOT).startsWith(BASIC)) {
      try {
        byte[] pair = Base64.getDecoder().decode(value.substring(BASIC.length()).strip());
        String text = new String(pair, StandardCharsets.ISO_8859_1);
        int colon = text.indexOf(':');
        if (colon >= 0 && text.startsWith(PREFIX, colon + 1)) {
          return text.substring(colon + 1 + PREFIX.length());
        }
      } catch (IllegalArgumentException e) {
        throw Tokens.refused("is not in base64");
      }
    }
    throw Tokens.refused("must be the password of Basic, after jwt_");
  }
}
