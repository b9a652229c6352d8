"""Settings: a flag beats ``STARCAST_*`` in the environment, that beats ``starcast.toml``, that the embedded default.

A setting that names no server means the embedded one: `starcast.connections` finds it in ``home``.
"""

import os
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

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

PREFIX = "STARCAST_"


def config_file() -> Path:
    """``STARCAST_CONFIG``, else ``starcast.toml`` here, else the one in the user's configuration folder."""
    named = os.environ.get(f"{PREFIX}CONFIG")
    here = Path("starcast.toml")
    if named:
        return Path(named)
    return here if here.is_file() else platformdirs.user_config_path("starcast") / "starcast.toml"


class Settings(BaseSettings):
    """Every setting of starcast, with its default. `Settings.load` builds it and remembers each value's source."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, env_ignore_empty=True)

    home: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("starcast"),
        description="folder of the embedded stack: data, logs, passwords",
    )
    cache: Path = Field(
        default_factory=lambda: platformdirs.user_cache_path("starcast"),
        description="folder of what is downloaded once: Neo4j's jars",
    )
    maven_repository: str | None = Field(None, description="URL of a mirror to fetch Neo4j's jars from")
    neo4j_uri: str | None = Field(None, description="URI of a Neo4j server of your own; unset: the embedded one")
    neo4j_user: str = Field("neo4j", description="user of your own Neo4j server")
    neo4j_password: SecretStr | None = Field(None, description="its password; better in a file")
    neo4j_password_file: Path | None = Field(None, description="file with its password")
    neo4j_database: str = Field("neo4j", description="database on the Neo4j server")
    neo4j_heap: str = Field("512m", description="heap of the embedded Neo4j", pattern=r"^\d+[kmgKMG]$")
    neo4j_pagecache: str = Field("256m", description="page cache of the embedded Neo4j", pattern=r"^\d+[kmgKMG]$")
    postgres_uri: str | None = Field(
        None, description="postgresql://USER@HOST:PORT/DATABASE of your own; unset: the embedded one"
    )
    postgres_password: SecretStr | None = Field(None, description="its password; better in a file")
    postgres_password_file: Path | None = Field(None, description="file with its password")
    batch: int = Field(20_000, ge=1, le=1_000_000, description="rows a batch on the way into Neo4j")
    packs: Path | None = Field(None, description="folder of query packs of your own")
    row_limit: int = Field(1_000, ge=1, description="most rows that a query returns")
    timeout: float = Field(30.0, gt=0, description="seconds that a query may take")

    #: Where each value came from: "flag", "environment", "file" or "default".
    _sources: dict[str, str] = {}

    @field_validator("home", "cache", "packs", "neo4j_password_file", "postgres_password_file")
    @classmethod
    def _expand(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()

    @field_validator("neo4j_uri", "postgres_uri", "maven_repository")
    @classmethod
    def _no_secret(cls, value: str | None) -> str | None:
        if value is not None and urlsplit(value).password is not None:
            raise ValueError("it holds a password, which belongs into the setting ..._password_file")
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
            InputError: a value is wrong, or the file has a key that is not a setting.
        """
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
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            raise InputError(
                f"the setting '{name}' is wrong: {first['msg'].lower()}",
                hint=f"see 'starcast config'; settings come from flags, {PREFIX}* and {config_file()}",
            ) from None
        except ValueError as error:  # TOML that does not parse
            raise InputError(f"{config_file()} is not TOML: {error}", hint="mend it or move it away") from None
        settings._sources = dict.fromkeys(cls.model_fields, "default")
        for source, values in sources:
            settings._sources |= dict.fromkeys(values, source)
        return settings

    @property
    def sources(self) -> dict[str, str]:
        """For each setting: ``flag``, ``environment``, ``file`` or ``default``."""
        return dict(self._sources)
