"""Names below E2B_DOMAIN are on this machine, as an entry in a name server would say."""

import os
import socket

_domain = "." + os.environ["E2B_DOMAIN"].partition(":")[0]
_getaddrinfo = socket.getaddrinfo


def _resolve(host, *rest, **named):
    name = host.decode() if isinstance(host, bytes) else host
    return _getaddrinfo("127.0.0.1" if name and name.endswith(_domain) else host, *rest, **named)


socket.getaddrinfo = _resolve
