"""The standard streams of the command line, which may be closed, full, or limited to ASCII."""

import codecs
import errno
import json
import os
import sys
from contextlib import suppress
from io import TextIOWrapper

#: Exit code if the reader has closed the pipe: the code with which a shell reports SIGPIPE.
CLOSED_PIPE = 141
_STDERR = 2
#: Name of the error handler for characters that an encoding cannot represent.
_HANDLER = "starcast"
#: Characters of starcast's own output, and their replacements in ASCII.
_ASCII = str.maketrans({"─": "-", "≈": "~", "≤": "<=", "✓": "+", "✕": "x", "▼": "v", "▲": "^"})


class _Stream(TextIOWrapper):
    """stdout or stderr; if stdout cannot be written, the command ends with a documented exit code.

    Failures to write to stderr are ignored, because messages matter less than the work itself.
    """

    def write(self, text: str) -> int:
        try:
            # Click writes an empty string to find out the kind of a stream, and ignores errors.
            return 0 if text == "" else super().write(text)
        except OSError as error:
            self._discard(error)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._discard(error)

    def _discard(self, error: OSError) -> None:
        # Further output goes to the null device; otherwise Python would try to write it at exit,
        # and print another error.
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
        if self.fileno() == _STDERR:
            return
        from starcast.stores.failures import from_os_error

        if error.errno == errno.EPIPE:
            raise SystemExit(CLOSED_PIPE)
        raise from_os_error(error, "the output") from None


def prepare() -> None:
    """Replace closed standard streams by the null device; handle write errors on the others."""
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Otherwise the next opened file, such as a connection to a server, would get the file
            # descriptor of the stream, and programs that starcast starts would write to it.
            opened = open(os.devnull, "r" if name == "stdin" else "w")  # noqa: PTH123, SIM115
            os.set_inheritable(opened.fileno(), True)
            setattr(sys, name, opened)
        # Streams of other classes belong to a program that calls starcast, such as pytest.
        elif type(stream) is TextIOWrapper:
            # In non-blocking mode, writing more than the pipe can hold would fail (EAGAIN).
            with suppress(OSError):
                os.set_blocking(stream.fileno(), True)
            if name != "stdin":
                wrapped = _Stream(
                    stream.buffer,
                    encoding=stream.encoding,
                    errors=_HANDLER,
                    line_buffering=stream.line_buffering,
                    write_through=stream.write_through,
                )
                setattr(sys, name, wrapped)


def encodable(text: str) -> str:
    """Return text with replacements for characters that the encoding of stdout cannot represent."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text if text.isascii() else text.encode(encoding, _HANDLER).decode(encoding)


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_ASCII)
    # JSON escapes are used, so that JSON output stays valid.
    return json.dumps(text)[1:-1], error.end


codecs.register_error(_HANDLER, _replace)
