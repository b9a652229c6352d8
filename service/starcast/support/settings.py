"""The settings of starcast, which can be set by flags, environment variables and a file.

Flags take precedence over ``STARCAST_*`` variables, the variables over the settings file
(``starcast.toml``), and the file over the defaults.

If no server URI is set, the embedded server is used; `starcast.embedded.endpoints` finds its
address.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl, urlsplit

import platformdirs
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from starcast.support.errors import InputError, LimitError, unreadable
from starcast.support.installation import CONFIG, PREFIX, config_file
from starcast.support.limited import SMALL_TEXT, decode_text, parse_toml
from starcast.support.table import Table
from starcast.support.vocabulary import LogLevel

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

#: The environment variable that makes errors show tracebacks; it is not a setting.
DEBUG = f"{PREFIX}DEBUG"

#: Flags whose names differ from the names of their settings, by setting.
_FLAGS = {"row_limit": "--limit"}
#: Messages that replace pydantic's messages, by pydantic's error type.
_MESSAGES = {
    "string_pattern_mismatch": "write a size such as 512m or 1g",
    "extra_forbidden": "there is no such setting",
}
_SIZE = r"^[0-9]+[kmgKMG]$"
_NO_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"
_DAY = 86_400
#: URI parameters that contain a password or the path of a password file.
_SECRETS = {"password", "passfile", "sslpassword"}
#: The beginning of a URI that contains a password, up to the @ after the password. SQLAlchemy
#: allows passwords with characters such as / and #, so this pattern does too.
_LOGIN = re.compile(r"[^:]*://[^:/]*:[^@]*@")


def _setting(default: Any, description: str, **limits: Any) -> Any:
    return Field(default, description=description, **limits)


def _port(description: str) -> Any:
    # Ports below 1024 are reserved for root, and the servers never run as root.
    return _setting(None, description, ge=1024, le=65_535)


class Settings(BaseModel):
    """All settings of starcast. Create them with `Settings.load`, which records their sources."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    home: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("starcast"),
        description="folder of the embedded stack: data, logs, passwords",
    )
    cache: Path = Field(
        default_factory=lambda: platformdirs.user_cache_path("starcast"),
        description="folder for downloads: Neo4j's jars",
    )
    maven_repository: str | None = _setting(None, "URL of a Maven mirror for Neo4j's jars")
    neo4j_uri: str | None = _setting(
        None, "URI of your own Neo4j server (default: the embedded one)"
    )
    neo4j_user: str = _setting("neo4j", "user of your own Neo4j server")
    neo4j_password: SecretStr | None = _setting(None, "password of neo4j_user; a file is safer")
    neo4j_password_file: Path | None = _setting(None, "file with the password of neo4j_user")
    neo4j_database: str = _setting("neo4j", "database on the Neo4j server")
    neo4j_port: int | None = _port(
        "port of the embedded Neo4j (default: a free port, the same at every start)"
    )
    neo4j_heap: str = _setting("512m", "heap size of the embedded Neo4j", pattern=_SIZE)
    neo4j_pagecache: str = _setting("256m", "page cache size of the embedded Neo4j", pattern=_SIZE)
    neo4j_java_options: str = _setting(
        "", "extra JVM options for the embedded Neo4j (shell syntax)"
    )
    browser: bool = _setting(
        False, "whether 'starcast up' serves Neo4j Browser on the embedded Neo4j"
    )
    neo4j_http_port: int | None = _port(
        "port of Neo4j Browser (default: the port used last; 7474 at the first start)"
    )
    postgres_uri: str | None = _setting(
        None, "postgresql://USER@HOST:PORT/DATABASE of your own server (default: the embedded one)"
    )
    postgres_port: int | None = _port(
        "port of the embedded PostgreSQL (default: a free port, the same at every start)"
    )
    postgres_password: SecretStr | None = _setting(
        None, "password of the user in postgres_uri; a file is safer"
    )
    postgres_password_file: Path | None = _setting(None, "file with the password for postgres_uri")
    postgres_owner: str | None = _setting(
        None, "role that migrates the schema on your own server (default: the user in postgres_uri)"
    )
    postgres_owner_password: SecretStr | None = _setting(
        None, "password of postgres_owner; a file is safer"
    )
    postgres_owner_password_file: Path | None = _setting(None, "file with the owner's password")
    batch: int = _setting(20_000, "rows per batch when loading into Neo4j", ge=1, le=1_000_000)
    packs: tuple[Path, ...] = _setting(
        (), f"folders with your own query packs, separated by '{os.pathsep}'"
    )
    plugins: tuple[str, ...] = _setting(
        (), f"your plug-ins: modules, .py files or paper packs, separated by '{os.pathsep}'"
    )
    labels: int = _setting(
        1, "smallest symbol in node labels for commands with --labels: 0 or 1", ge=0, le=1
    )
    row_limit: int = _setting(1_000, "maximum number of rows that a query returns", ge=1)
    timeout: float = _setting(30.0, "maximum duration of a query in seconds", gt=0, le=_DAY)
    log_file: Path = Field(
        default_factory=lambda: platformdirs.user_log_path("starcast") / "starcast.log",
        description="file of starcast's own log, in JSON lines",
    )
    log_level: LogLevel = _setting(
        "info", "minimum level that is logged: debug, info, warning, error or off"
    )

    #: The source of each value: "flag", "environment", "file" or "default".
    _sources: dict[str, str] = {}

    @field_validator(
        *("home", "cache", "log_file", "neo4j_password_file"),
        *("postgres_password_file", "postgres_owner_password_file"),
    )
    @classmethod
    def _expand(cls, value: Path | None) -> Path | None:
        return None if value is None else _absolute(value)

    @field_validator("packs", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        folders = value.split(os.pathsep) if isinstance(value, str) else value
        if not isinstance(folders, list | tuple):
            return folders
        return [
            _absolute(Path(each)) if isinstance(each, str | Path) else each
            for each in folders
            if each
        ]

    @field_validator("plugins", mode="before")
    @classmethod
    def _split_names(cls, value: object) -> object:
        return tuple(filter(None, value.split(os.pathsep))) if isinstance(value, str) else value

    @field_validator("neo4j_uri", "postgres_uri", "maven_repository")
    @classmethod
    def _refuse_secret(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and _holds_secret(value):
            remedy = (
                "name a mirror that needs no password"
                if info.field_name == "maven_repository"
                else "put the password into a file, and name the file in neo4j_password_file or "
                "postgres_password_file"
            )
            raise ValueError(f"the URI contains a password; {remedy}")
        return value

    @classmethod
    def load(cls, **flags: Any) -> Self:
        """Load the settings from all sources; flags that are None are ignored.

        Raises:
            InputError: a value is invalid, or the settings file is unreadable or has unknown keys.
            LimitError: the settings file is too large.
        """
        given = {name: value for name, value in flags.items() if value is not None}
        sources = {"file": _read_file(), "environment": _read_environment(), "flag": given}
        values: dict[str, Any] = {}
        for found in sources.values():
            values |= found
        try:
            with _without_plugins():
                settings = cls(**values)
        except ValidationError as error:
            raise _input_error(error.errors()[0], given) from None
        settings._sources = dict.fromkeys(cls.model_fields, "default")
        for source, named in sources.items():
            settings._sources |= dict.fromkeys(named, source)
        return settings

    def listing(self) -> Table:
        """Return a table of all settings: value, source and meaning; secrets are hidden."""
        rows = [
            {
                "setting": name,
                "value": getattr(self, name),
                "source": self.sources[name],
                "meaning": field.description,
            }
            for name, field in type(self).model_fields.items()
        ]
        return Table.of(rows, ("setting", "value", "source", "meaning"))

    @property
    def sources(self) -> dict[str, str]:
        """The source of each setting, as ``flag``, ``environment``, ``file`` or ``default``."""
        return dict(self._sources)


def unknown_variables(environment: Mapping[str, str]) -> dict[str, str | None]:
    """Find the non-empty ``STARCAST_*`` variables that starcast does not use.

    Returns:
        For each unused name, the most similar name of a variable that starcast uses, or None.
    """
    # These two variables must be in capitals; the variables of settings may be in lower case.
    others = {CONFIG, DEBUG}
    settings = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    nonempty = sorted(name for name, value in environment.items() if value)
    named = [name for name in nonempty if name.upper().startswith(PREFIX)]
    unknown = [name for name in named if name not in others and name.upper() not in settings]
    return {name: _nearest(name.upper(), settings | others) for name in unknown}


def _absolute(path: Path) -> Path:
    """Return a path as an absolute path; ``~`` at its beginning is replaced by the home folder."""
    try:
        return path.expanduser().absolute()
    except RuntimeError:  # the path begins with ~NAME of an unknown user
        raise ValueError(f"the user in '{path}' is unknown or has no home folder") from None


def _nearest(name: str, known: Collection[str]) -> str | None:
    """Return the name in ``known`` that is most similar to a misspelled name, or None."""
    # Names must be more similar than for `did_you_mean`, because all variables share a prefix.
    return next(iter(get_close_matches(name, known, n=1, cutoff=0.8)), None)


@contextmanager
def _without_plugins() -> Iterator[None]:
    """Prevent pydantic from searching all installed packages for its plug-ins."""
    previous = os.environ.get(_NO_PLUGINS)
    os.environ[_NO_PLUGINS] = "1"
    try:
        yield
    finally:
        if previous is None:
            del os.environ[_NO_PLUGINS]
        else:
            os.environ[_NO_PLUGINS] = previous


def _read_environment() -> dict[str, str]:
    """Return the settings from environment variables; empty variables are ignored."""
    variables = {name.upper(): value for name, value in os.environ.items() if value}
    names = {name: f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    return {name: variables[each] for name, each in names.items() if each in variables}


def _read_file() -> dict[str, Any]:
    """Return the settings from the settings file; {} if no such file exists.

    With ``STARCAST_CONFIG=/dev/null``, no settings file is read.

    Raises:
        InputError: ``STARCAST_CONFIG`` names a folder or a missing file, or the file is unreadable
            or not TOML.
        LimitError: the file is too large.
    """
    file = config_file()
    if os.environ.get(CONFIG) and (not os.path.exists(file) or file.is_dir()):  # noqa: PTH110 - never raises
        raise InputError(
            f"{CONFIG} names {file}, which is not a file",
            hint=f"specify an existing file, or unset {CONFIG}",
        )
    if not file.is_file():
        return {}
    if file.stat().st_size > SMALL_TEXT:
        raise LimitError(
            f"the settings file {file} is too large: it has more than {SMALL_TEXT:,} bytes",
            hint="correct or rename the file",
        )
    try:
        return parse_toml(decode_text(file.read_bytes()))
    except OSError as error:
        raise unreadable(file, error) from None
    except ValueError as error:
        raise InputError(
            f"{file} cannot be read as TOML: {error}", hint="correct or rename the file"
        ) from None


def _input_error(details: "ErrorDetails", flags: Collection[str]) -> InputError:
    """Convert a pydantic error to an error that names the flag or the setting."""
    name = ".".join(str(part) for part in details["loc"])
    message = details["msg"].removeprefix("Value error, ")
    message = _MESSAGES.get(details["type"], message[:1].lower() + message[1:])
    if name in flags:
        flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        return InputError(
            f"{flag} is invalid: {message}",
            hint=f"see the setting '{name}' in 'starcast config'",
        )
    unknown = details["type"] == "extra_forbidden"
    nearest = _nearest(name, Settings.model_fields) if unknown else None
    suggestion = f"; did you mean '{nearest}'?" if nearest else ""
    return InputError(
        f"the setting '{name}' is invalid: {message}{suggestion}",
        hint=f"correct its source: a flag, a {PREFIX}* variable or {config_file()}",
    )


def _holds_secret(uri: str) -> bool:
    """Return whether a URI contains a password, or the path of a password file."""
    query = uri.partition("?")[2].replace("#", "&")
    return (
        _LOGIN.match(uri) is not None
        or urlsplit(uri).password is not None
        or any(name.casefold() in _SECRETS for name, _ in parse_qsl(query, keep_blank_values=True))
    )
