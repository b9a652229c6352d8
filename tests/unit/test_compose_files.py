"""The Docker Compose files agree with each other and the code (`tests/compose/run` runs them)."""

import re
import shlex
import shutil
import stat
import subprocess
import tomllib
from collections import defaultdict
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from starcast.embedded.neo4j import CONFIGURATION, PROCEDURES
from starcast.stores import ROLE_NAMES
from starcast.support.settings import Settings

ROOT = Path(__file__).parents[2]
COMPOSE = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
CODE = "\n".join(line for line in COMPOSE.splitlines() if not line.lstrip().startswith("#"))
PROJECT = yaml.safe_load(COMPOSE)
SERVICES: dict[str, dict[str, Any]] = PROJECT["services"]
EXAMPLE = (ROOT / ".env.example").read_text(encoding="utf-8")
#: The variables of .env.example and their values, as a shell reads them.
VALUES = dict(word.split("=", 1) for word in shlex.split(EXAMPLE, comments=True))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)(?::?-([^}]*))?\}")
SECRET = re.compile(r"\$\{SECRETS:\?run 'make secrets' first, .+\}/([a-z0-9-]+)")


def test_the_example_environment_lists_every_compose_variable_with_its_default() -> None:
    """Every use of a variable has the same default. Only SECRETS is used without a default."""
    secrets = ("SECRETS", "./compose/secrets")
    assert {match.groups() for match in VARIABLE.finditer(CODE)} | {secrets} == VALUES.items()


def test_no_variable_in_the_compose_file_is_written_without_braces() -> None:
    """`$NAME` would have no default. `$$` is a dollar sign for the shell in the container."""
    assert re.findall(r"(?<!\$)(?:\$\$)*\$\w+", CODE) == []


def test_settings_in_the_example_environment_have_the_defaults_of_the_code() -> None:
    for name in ("batch", "row_limit", "timeout"):
        assert float(VALUES[f"STARCAST_{name.upper()}"]) == Settings.model_fields[name].default
    for name in ("neo4j_heap", "neo4j_pagecache"):
        assert VALUES[name.upper()] == Settings.model_fields[name].default


def test_every_setting_passed_to_the_containers_exists() -> None:
    names = {name for service in SERVICES.values() for name in service.get("environment", ())}
    settings = {name for name in names if name.startswith("STARCAST_")}
    assert settings
    assert settings <= {f"STARCAST_{name.upper()}" for name in Settings.model_fields}


def test_the_settings_file_named_in_the_image_exists() -> None:
    """Naming a settings file that does not exist would be an error."""
    (named,) = re.findall(r"STARCAST_CONFIG=(\S+)", DOCKERFILE)
    assert f"touch {named}\n" in DOCKERFILE


def test_containers_publish_ports_on_the_loopback_address_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert len(ports) == 5
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


@pytest.mark.parametrize("server", ["neo4j", "postgres"])
def test_server_images_are_pinned_and_have_health_checks_and_limits(server: str) -> None:
    """The servers are restarted automatically, and run with few privileges."""
    service = SERVICES[server]
    assert re.fullmatch(rf"{server}:\d[\d.]*", service["image"])
    assert service.keys() >= {"healthcheck", "mem_limit", "stop_grace_period", "logging", "volumes"}
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == "unless-stopped"
    assert service["pids_limit"] > 0


def test_the_memory_limits_of_the_services_add_up_to_the_documented_sum() -> None:
    total = 0
    for name in ("neo4j", "postgres", "setup", "explorer"):
        ((_, limit),) = VARIABLE.findall(SERVICES[name]["mem_limit"])
        total += int(limit[:-1]) * {"m": 1, "g": 1024}[limit[-1]]
    assert total == 3.5 * 1024
    for text in (EXAMPLE, (ROOT / "docs" / "compose.md").read_text(encoding="utf-8")):
        assert "3.5 GB" in text


def test_compose_services_wait_for_healthy_servers() -> None:
    servers = {"neo4j", "postgres"}
    healthy = {"condition": "service_healthy"}
    assert SERVICES["setup"]["depends_on"] == dict.fromkeys(servers, healthy)
    for name in ("explorer", "starcast"):
        assert SERVICES[name]["depends_on"] == dict.fromkeys({*servers, "setup"}, healthy)


def test_dask_workers_start_only_with_their_profile_and_get_no_password() -> None:
    for name in ("scheduler", "worker"):
        dask = SERVICES[name]
        assert (dask["profiles"], dask["entrypoint"]) == (["workers"], ["dask"])
        assert (dask["environment"], dask["secrets"]) == ({}, [])
    assert SERVICES["worker"]["scale"] == 2
    assert 'ARG EXTRAS="backup dask web"\n' in DOCKERFILE
    assert VALUES["EXTRAS"] == "backup dask web"


def test_compose_and_the_embedded_stack_run_the_same_neo4j_version() -> None:
    locked = resources.files("starcast.embedded").joinpath("jars.lock").read_text(encoding="utf-8")
    (version,) = re.findall(r" org\.neo4j:neo4j:(\S+)$", locked, flags=re.MULTILINE)
    assert SERVICES["neo4j"]["image"] == f"neo4j:{version}"


def test_compose_confines_neo4j_with_the_settings_of_the_embedded_stack() -> None:
    """The settings that confine the embedded server have the same values in the container."""
    lines = CONFIGURATION.format_map(defaultdict[str, str](str)).splitlines()
    embedded = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    expected = {
        "dbms.security.procedures.allowlist": ",".join(PROCEDURES),
        "client.allow_telemetry": "false",
    }
    for name in (
        "dbms.security.allow_csv_import_from_file_urls",
        "internal.dbms.cypher_ip_blocklist",
        "dbms.usage_report.enabled",
        "server.fleet_discovery.enabled",
    ):
        expected[name] = embedded[name]
    for name, value in expected.items():
        variable = name.replace("_", "__").replace(".", "_")
        assert SERVICES["neo4j"]["environment"][f"NEO4J_{variable}"] == value


def test_passwords_are_passed_to_containers_as_files() -> None:
    """No variable contains a password."""
    assert re.findall(r"PASSWORD: ", CODE) == []
    names = {name: SECRET.fullmatch(secret["file"]) for name, secret in PROJECT["secrets"].items()}
    assert all(match and match[1] == name for name, match in names.items())


def test_make_secrets_creates_passwords_once_and_sets_the_variable_secrets_in_dot_env(
    tmp_path: Path,
) -> None:
    """A second call changes nothing, since the databases keep the passwords of the first start."""
    script = shutil.copytree(ROOT / "compose", tmp_path / "compose") / "make-secrets"
    shutil.rmtree(tmp_path / "compose" / "secrets", ignore_errors=True)
    (tmp_path / ".env").write_text("POSTGRES_PORT=5433", encoding="utf-8")
    folder = tmp_path / "compose" / "secrets"

    def files() -> dict[str, str]:
        subprocess.run([script], check=True, stdout=subprocess.DEVNULL)
        return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}

    written = files()
    assert written.keys() == PROJECT["secrets"].keys()
    assert written.pop("neo4j-auth") == f"neo4j/{written['neo4j-password']}"
    assert all(re.fullmatch(r"[0-9a-f]{48}\n", text) for text in written.values())
    assert len({*written.values()}) == len(written)
    # The users in the containers must be able to read the files. The mode of the folder excludes
    # other users of this machine.
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o644}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert files().items() >= written.items()
    environment = (tmp_path / ".env").read_text(encoding="utf-8")
    assert environment == "POSTGRES_PORT=5433\nSECRETS=./compose/secrets\n"


def test_each_compose_server_has_its_own_network_and_a_processor_limit() -> None:
    """Workers run code that clients send, so workers must not reach a database server."""
    clients = {"setup", "explorer", "starcast"}
    members: dict[str, set[str]] = {name: set() for name in PROJECT["networks"]}
    for name, service in SERVICES.items():
        for network in service["networks"]:
            members[network].add(name)
        assert "cpus" in service
    assert members == {
        "graph": {"neo4j", *clients},
        "database": {"postgres", *clients},
        "workers": {"scheduler", "worker", "starcast"},
    }
    assert SERVICES["neo4j"]["ulimits"] == {"nofile": "${NEO4J_FILES:-40000}"}


def test_commands_log_in_as_writer_or_reader_and_only_setup_as_owner() -> None:
    logins = {"starcast": "writer", "setup": "writer", "explorer": "reader"}
    for name, role in logins.items():
        environment = SERVICES[name]["environment"]
        password = f"/run/secrets/postgres-{role}-password"
        assert f"//starcast_{role}@postgres:5432/" in environment["STARCAST_POSTGRES_URI"]
        assert environment["STARCAST_POSTGRES_PASSWORD_FILE"] == password
    owned = [name for name in logins if "owner" in str(SERVICES[name])]
    assert owned == ["setup"]
    assert SERVICES["setup"]["environment"]["STARCAST_POSTGRES_OWNER"] == "starcast_owner"
    script = (ROOT / "compose" / "postgres-roles.sh").read_text(encoding="utf-8")
    (created,) = re.findall(r"array\[(.+)\]", script)
    assert re.findall(r"'(\w+)'", created) == list(ROLE_NAMES.values())


def test_the_dockerfile_works_with_older_builders() -> None:
    """Older builders support neither heredocs nor --link.

    A line ``# syntax=`` is avoided as well, because the builder would pull an image from a
    registry.
    """
    assert re.findall(r"^# *syntax=|<<|--link", DOCKERFILE, flags=re.MULTILINE) == []


def test_the_image_does_not_run_as_root_and_its_base_image_is_named_once() -> None:
    assert re.findall(r"^ARG PYTHON=python:[\d.]+-slim$", DOCKERFILE, flags=re.MULTILINE)
    bases = set(re.findall(r"^FROM (\S+)", DOCKERFILE, flags=re.MULTILINE))
    assert bases == {"${PYTHON}", "dependencies"}
    assert DOCKERFILE.rindex("USER starcast") > DOCKERFILE.rindex("FROM ")


def test_the_dockerfile_copies_the_files_of_the_wheel_and_no_ignored_file() -> None:
    """The build fails if the Dockerfile copies a path that .dockerignore does not allow."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, flags=re.MULTILINE)
    names = {name for each in copied for name in each.split()}
    assert names == {line[1:] for line in lines if line[:1] == "!"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]) <= names
