"""Settings: a flag beats ``STARCAST_*`` in the environment, that beats ``starcast.toml``, that the embedded default.

A setting that names no server means the embedded one: `starcast.endpoints` finds it in ``home``.
"""

import os
import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl, urlsplit

import platformdirs
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from starcast.errors import InputError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

PREFIX = "STARCAST_"
#: Variables that are no settings: the file with the settings, and whether errors of our own show their traceback.
CONFIG, DEBUG = f"{PREFIX}CONFIG", f"{PREFIX}DEBUG"

#: Flags that do not bear the name of their setting.
_FLAGS = {"row_limit": "--limit"}
#: Our words for what pydantic says in the language of its own.
_WORDS = {
    "string_pattern_mismatch": "write a size such as 512m or 1g",
    "extra_forbidden": "there is no such setting",
}
_SIZE = r"^[0-9]+[kmgKMG]$"
_DAY = 86_400
#: What a URI's query may hold that is secret, or leads to what is.
_SECRETS = {"password", "passfile", "sslpassword"}
#: A password before the host, as SQLAlchemy finds it: it may hold what ends a host elsewhere.
_LOGIN = re.compile(r"[^:]*://[^:/]*:[^@]*@")


def config_file() -> Path:
    """``STARCAST_CONFIG``, else ``starcast.toml`` here, else the one in the user's configuration folder."""
    named = os.environ.get(CONFIG)
    here = Path("starcast.toml")
    if named:
        return Path(named)
    return here if here.is_file() else platformdirs.user_config_path("starcast") / "starcast.toml"


class Settings(BaseSettings):
    """Every setting of starcast, with its default. `Settings.load` builds it and remembers each value's source."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="forbid", frozen=True, env_ignore_empty=True
    )

    home: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("starcast"),
        description="folder of the embedded stack: data, logs, passwords",
    )
    cache: Path = Field(
        default_factory=lambda: platformdirs.user_cache_path("starcast"),
        description="folder of what is downloaded once: Neo4j's jars",
    )
    maven_repository: str | None = Field(
        None, description="URL of a mirror to fetch Neo4j's jars from"
    )
    neo4j_uri: str | None = Field(
        None, description="URI of a Neo4j server of your own; unset: the embedded one"
    )
    neo4j_user: str = Field("neo4j", description="user of your own Neo4j server")
    neo4j_password: SecretStr | None = Field(None, description="its password; better in a file")
    neo4j_password_file: Path | None = Field(None, description="file with its password")
    neo4j_database: str = Field("neo4j", description="database on the Neo4j server")
    neo4j_heap: str = Field("512m", description="heap of the embedded Neo4j", pattern=_SIZE)
    neo4j_pagecache: str = Field(
        "256m", description="page cache of the embedded Neo4j", pattern=_SIZE
    )
    neo4j_java_options: str = Field(
        "", description="further options of the embedded Neo4j's Java, as a shell takes them"
    )
    postgres_uri: str | None = Field(
        None,
        description="postgresql://USER@HOST:PORT/DATABASE of your own; unset: the embedded one",
    )
    postgres_password: SecretStr | None = Field(None, description="its password; better in a file")
    postgres_password_file: Path | None = Field(None, description="file with its password")
    batch: int = Field(20_000, ge=1, le=1_000_000, description="rows a batch on the way into Neo4j")
    packs: Path | None = Field(None, description="folder of query packs of your own")
    row_limit: int = Field(1_000, ge=1, description="most rows that a query returns")
    timeout: float = Field(30.0, gt=0, le=_DAY, description="seconds that a query may take")

    #: Where each value came from: "flag", "environment", "file" or "default".
    _sources: dict[str, str] = {}

    @field_validator("home", "cache", "packs", "neo4j_password_file", "postgres_password_file")
    @classmethod
    def _expand(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()

    @field_validator("neo4j_uri", "postgres_uri", "maven_repository")
    @classmethod
    def _no_secret(cls, value: str | None) -> str | None:
        if value is not None and _holds_secret(value):
            raise ValueError(
                "it holds a password, which belongs into the setting ..._password_file"
            )
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is pydantic's
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, environment, file: in this order, and nothing else."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, config_file())

    @classmethod
    def load(cls, **flags: Any) -> Self:
        """The settings in force; flags that are None count as not given.

        Raises:
            InputError: a value is wrong, or the file cannot be read or has a key that is not a setting.
        """
        _require_named_file()
        given = {name: value for name, value in flags.items() if value is not None}
        try:
            settings = cls(**given)
            sources = (
                ("default", dict[str, Any]()),
                ("file", TomlConfigSettingsSource(cls, config_file())()),
                ("environment", EnvSettingsSource(cls)()),
                ("flag", given),
            )
        except ValidationError as error:
            raise _refusal(error.errors()[0], given) from None
        except OSError as error:
            raise InputError(
                f"{config_file()} cannot be read: {error.strerror}", hint="check its mode"
            ) from None
        except ValueError as error:  # TOML that does not parse
            raise InputError(
                f"{config_file()} is not TOML: {error}", hint="mend it or move it away"
            ) from None
        settings._sources = dict.fromkeys(cls.model_fields, "default")
        for source, values in sources:
            settings._sources |= dict.fromkeys(values, source)
        return settings

    @property
    def sources(self) -> dict[str, str]:
        """For each setting: ``flag``, ``environment``, ``file`` or ``default``."""
        return dict(self._sources)


def strangers(environment: Mapping[str, str]) -> dict[str, str | None]:
    """The variables ``STARCAST_*`` that mean nothing to us and are not empty, each with the one that may be meant."""
    known = {CONFIG, DEBUG, *(f"{PREFIX}{name.upper()}" for name in Settings.model_fields)}
    ours = (
        name for name, value in environment.items() if value and name.upper().startswith(PREFIX)
    )
    return {
        name: _nearest(name.upper(), known) for name in sorted(ours) if name.upper() not in known
    }


def _nearest(name: str, known: Collection[str]) -> str | None:
    return next(iter(get_close_matches(name, known, n=1, cutoff=0.8)), None)


def _require_named_file() -> None:
    """See that there is the file that ``STARCAST_CONFIG`` names; the null device will do, and holds nothing."""
    file = config_file()
    if os.environ.get(CONFIG) and (not os.path.exists(file) or file.is_dir()):  # noqa: PTH110 - it never raises
        raise InputError(
            f"{CONFIG} names {file}, which is no file", hint=f"write it, or unset {CONFIG}"
        )


def _refusal(found: "ErrorDetails", flags: Collection[str]) -> InputError:
    """What pydantic found, as one sentence that names the flag where a flag was given."""
    name = ".".join(str(part) for part in found["loc"])
    words = found["msg"].removeprefix("Value error, ")
    words = _WORDS.get(found["type"], words[:1].lower() + words[1:])
    if name in flags:
        flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        return InputError(
            f"{flag} is wrong: {words}",
            hint=f"it stands for the setting '{name}': see 'starcast config'",
        )
    near = _nearest(name, Settings.model_fields) if found["type"] == "extra_forbidden" else None
    return InputError(
        f"the setting '{name}' is wrong: {words}" + (f"; did you mean '{near}'?" if near else ""),
        hint=f"see 'starcast config'; settings come from flags, {PREFIX}* and {config_file()}",
    )


def _holds_secret(uri: str) -> bool:
    query = uri.partition("?")[2].replace("#", "&")
    return (
        _LOGIN.match(uri) is not None
        or urlsplit(uri).password is not None
        or any(name.casefold() in _SECRETS for name, _ in parse_qsl(query, keep_blank_values=True))
    )
