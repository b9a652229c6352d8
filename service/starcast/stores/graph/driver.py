"""The Neo4j driver, and its error messages for servers that cannot be reached.

This module prevents the driver from importing pandas and pyarrow, which the driver imports only to
accept parameters of their types. starcast passes no such parameters, and importing the two packages
would take half a second in each command that uses the graph.
"""

import sys
from collections.abc import Iterator
from socket import gaierror
from ssl import SSLCertVerificationError, SSLError

from starcast.support.errors import UnavailableError

_UNUSED = [name for name in ("pandas", "pyarrow") if name not in sys.modules]
# With None in sys.modules, `import pandas` raises ImportError, which the driver handles.
sys.modules.update(dict.fromkeys(_UNUSED))  # type: ignore[arg-type]
try:
    import neo4j.exceptions
    import neo4j.graph
finally:
    # Without these entries, other code in the process can import pandas and pyarrow later.
    for _name in _UNUSED:
        del sys.modules[_name]

__all__ = ["describe_unreachable", "neo4j"]

#: Part of the driver's message about a failed TLS handshake, whatever the cause.
_NO_TLS = "Failed to establish encrypted connection"


def describe_unreachable(uri: str, error: BaseException) -> UnavailableError:
    """Return the error for a server that cannot be reached or has closed the connection.

    Args:
        uri: the URI of the server.
        error: the error of the driver.
    """
    message = f"Neo4j at {uri} cannot be reached or closed the connection"
    hint = "start it ('starcast up' starts the embedded Neo4j), then try again"
    if "+s" not in uri:
        hint = f"{hint}; a server that requires TLS needs bolt+s:// or neo4j+s://"
    # Outer errors come first, and the last match determines the message, so that the message
    # describes the most specific cause.
    for cause in _causes(error):
        if isinstance(cause, SSLCertVerificationError):
            message = f"the certificate of Neo4j at {uri} is not trusted: {cause.verify_message}"
            hint = (
                "write +ssc instead of +s to accept any certificate, or name a file with the"
                " issuer's certificate in SSL_CERT_FILE"
            )
        elif isinstance(cause, SSLError) or _NO_TLS in str(cause):
            message = f"Neo4j at {uri} does not accept a connection with TLS"
            hint = "write bolt:// or neo4j:// for a connection without encryption"
        elif isinstance(cause, gaierror):
            message = f"the host of {uri} is unknown: {cause.strerror}"
            hint = "correct the host in STARCAST_NEO4J_URI"
        elif "looks like HTTP" in str(cause):
            hint = "choose the port for Bolt, often 7687; this port speaks HTTP"
    return UnavailableError(message, hint=hint)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, including the members of the driver's exception groups."""
    yield error
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield from _causes(member)
    cause = error.__cause__ or error.__context__
    if cause is not None:
        yield from _causes(cause)
