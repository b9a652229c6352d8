"""The Docker Compose files agree with each other and with the code (run: `tests/compose/run`)."""

import re
import shlex
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from starcast.embedded.neo4j import CONFIGURATION, PROCEDURES
from starcast.stores import ROLE_NAMES
from starcast.support.settings import Settings

ROOT = Path(__file__).parents[2]
COMPOSE = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
CODE = "\n".join(line for line in COMPOSE.splitlines() if not line.lstrip().startswith("#"))
EXAMPLE = (ROOT / ".env.example").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
VARIABLE = re.compile(r"(?<!\$)\$\{(?P<name>\w+)(?P<default>:?-[^}]*)?\}")


def variables() -> dict[str, set[str | None]]:
    """Return the defaults of each variable in the compose file; None means a missing default."""
    defaults: dict[str, set[str | None]] = {}
    for match in VARIABLE.finditer(CODE):
        default = match["default"]
        defaults.setdefault(match["name"], set()).add(
            None if default is None else default.lstrip(":").removeprefix("-")
        )
    return defaults


def example() -> dict[str, str]:
    """Return the variables of .env.example and their values, as a shell reads them."""
    lines = [line for line in EXAMPLE.splitlines() if line and not line.startswith("#")]
    words = (line.partition("=") for line in lines)
    return {name: "".join(shlex.split(value)) for name, _, value in words}


def services() -> dict[str, str]:
    """Return the text of each service."""
    body = re.split(r"^services:\n|^volumes:\n", CODE, flags=re.MULTILINE)[1]
    parts = re.split(r"^  (\w+):\n", body, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_every_variable_has_the_same_default_wherever_it_is_used() -> None:
    assert variables()
    assert all(len(each) == 1 and None not in each for each in variables().values())


def test_no_variable_is_written_without_braces() -> None:
    """`$NAME` would have no default; `$$` is a dollar sign for the shell in the container."""
    assert re.findall(r"(?<!\$)(?:\$\$)*\$\w+", CODE) == []


def test_the_example_environment_lists_every_variable_with_its_default() -> None:
    assert example() == {name: next(iter(defaults)) for name, defaults in variables().items()}


def test_every_paragraph_of_the_example_environment_has_a_comment() -> None:
    paragraphs = EXAMPLE.strip().split("\n\n")
    assert [paragraph for paragraph in paragraphs if not paragraph.startswith("#")] == []


def test_settings_in_the_example_environment_have_the_defaults_of_the_code() -> None:
    given = example()
    for name in ("batch", "row_limit", "timeout"):
        assert float(given[f"STARCAST_{name.upper()}"]) == Settings.model_fields[name].default
    for name in ("neo4j_heap", "neo4j_pagecache"):
        assert given[name.upper()] == Settings.model_fields[name].default


def test_every_setting_passed_to_the_containers_exists() -> None:
    names = re.findall(r"^    STARCAST_(\w+):", CODE, flags=re.MULTILINE)
    assert names
    assert set(map(str.lower, names)) <= set(Settings.model_fields)


def test_the_settings_file_named_in_the_image_exists() -> None:
    """Naming a settings file that does not exist would be an error."""
    named = re.findall(r"STARCAST_CONFIG=(\S+)", DOCKERFILE)
    assert len(named) == 1
    assert f"touch {named[0]}\n" in DOCKERFILE


def test_ports_are_published_on_loopback_only() -> None:
    ports = re.findall(r"^      - (\S+:\d+)$", CODE, flags=re.MULTILINE)
    assert len(ports) == 5
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


@pytest.mark.parametrize("server", ["neo4j", "postgres"])
def test_server_images_are_pinned_and_have_health_checks_and_limits(server: str) -> None:
    text = services()[server]
    assert re.search(rf"image: {server}:\d[\d.]*$", text, flags=re.MULTILINE)
    for key in ("healthcheck:", "mem_limit:", "stop_grace_period:", "logging:", "volumes:"):
        assert key in text


def test_the_memory_limits_of_the_services_add_up_to_the_documented_sum() -> None:
    total = 0
    for name in ("neo4j", "postgres", "setup", "explorer"):
        common = COMPOSE.split("x-starcast: &starcast\n")[1].split("\n\n")[0]
        text = services()[name]
        (variable,) = re.findall(r"mem_limit: \$\{(\w+)", text if "mem_limit" in text else common)
        (default,) = variables()[variable]
        assert default is not None
        total += int(default[:-1]) * {"m": 1, "g": 1024}[default[-1]]
    promised = f"{total / 1024:g} GB"
    assert promised == "3.5 GB"
    for text in (EXAMPLE, (ROOT / "docs" / "compose.md").read_text(encoding="utf-8")):
        assert promised in text


@pytest.mark.parametrize("service", ["setup", "explorer", "starcast"])
def test_commands_wait_for_healthy_servers(service: str) -> None:
    needed = {"neo4j", "postgres"} | ({"setup"} - {service})
    healthy = re.findall(r"(?m)^      (\w+): {condition: service_healthy}$", services()[service])
    assert set(healthy) == needed


def test_dask_workers_start_only_with_their_profile_and_get_no_password() -> None:
    dask = COMPOSE.split("x-dask: &dask\n")[1].split("\n\n")[0]
    for line in ("profiles: [workers]", "environment: {}", "secrets: []", "entrypoint: [dask]"):
        assert f"  {line}\n" in f"{dask}\n"
    for service in ("scheduler", "worker"):
        assert "<<: *dask\n" in services()[service]
    assert "scale: 2\n" in services()["worker"]
    assert 'ARG EXTRAS="backup dask web"\n' in DOCKERFILE
    assert variables()["EXTRAS"] == {"backup dask web"}


def test_compose_and_the_embedded_stack_run_the_same_neo4j_version() -> None:
    locked = resources.files("starcast.embedded").joinpath("jars.lock").read_text(encoding="utf-8")
    version = re.search(r" org\.neo4j:neo4j:(\S+)$", locked, flags=re.MULTILINE)
    assert version
    assert f"image: neo4j:{version[1]}\n" in COMPOSE


def test_compose_confines_neo4j_with_the_settings_of_the_embedded_stack() -> None:
    """Every setting that confines the embedded server has the same value in the container."""
    given = {
        name.replace("__", "\0").replace("_", ".").replace("\0", "_"): value.strip('"')
        for name, value in re.findall(r"^      NEO4J_(\w+): (.+)$", CODE, flags=re.MULTILINE)
    }
    embedded = dict(
        line.split("=", 1)
        for line in CONFIGURATION.format_map(Placeholders()).splitlines()
        if not line.startswith("#")
    )
    for name in (
        "dbms.security.allow_csv_import_from_file_urls",
        "internal.dbms.cypher_ip_blocklist",
        "dbms.usage_report.enabled",
        "server.fleet_discovery.enabled",
    ):
        assert given[name] == embedded[name]
    assert given["dbms.security.procedures.allowlist"] == ",".join(PROCEDURES)
    assert given["client.allow_telemetry"] == "false"


class Placeholders(dict[str, str]):
    """A mapping that returns an empty text for every missing key."""

    def __missing__(self, key: str) -> str:
        return ""


@pytest.mark.parametrize("server", ["neo4j", "postgres"])
def test_servers_are_restarted_and_run_with_few_privileges(server: str) -> None:
    confined = COMPOSE.split("x-confined: &confined\n")[1].split("\n\n")[0]
    for line in ("cap_drop: [ALL]", "no-new-privileges:true", "restart: unless-stopped"):
        assert line in confined
    assert "<<: *confined\n" in services()[server]
    assert re.search(r"pids_limit: \d+$", services()[server], flags=re.MULTILINE)


def test_passwords_are_passed_as_files() -> None:
    """No variable contains a password, and the compose files agree with each other."""
    assert re.findall(r"PASSWORD: ", CODE) == []
    folder = ROOT / "compose" / "secrets"
    mounted = re.findall(r"^    file: \$\{SECRETS:-\./compose/secrets\}/(\S+)$", CODE, re.MULTILINE)
    assert sorted(mounted) == sorted(path.name for path in folder.iterdir())
    password = (folder / "neo4j-password").read_text(encoding="utf-8")
    assert (folder / "neo4j-auth").read_text(encoding="utf-8") == f"neo4j/{password}"


def test_commands_log_in_as_the_writer_and_only_setup_as_the_owner() -> None:
    common = COMPOSE.split("x-starcast: &starcast\n")[1].split("\n\n")[0]
    assert "postgresql://starcast_writer@postgres:5432/" in common
    assert "STARCAST_POSTGRES_PASSWORD_FILE: /run/secrets/postgres-writer-password\n" in common
    assert "owner" not in common + services()["starcast"] + services()["explorer"]
    assert "postgresql://starcast_reader@postgres:5432/" in services()["explorer"]
    assert "STARCAST_POSTGRES_OWNER: starcast_owner\n" in services()["setup"]
    script = (ROOT / "compose" / "postgres-roles.sh").read_text(encoding="utf-8")
    created = re.search(r"array\[(.+)\]", script)
    assert created
    assert re.findall(r"'(\w+)'", created[1]) == list(ROLE_NAMES.values())


def test_the_dockerfile_works_with_older_builders() -> None:
    """Older builders support neither heredocs nor --link. A syntax line would need a registry."""
    assert re.findall(r"^# *syntax=|<<|--link", DOCKERFILE, flags=re.MULTILINE) == []


def test_the_image_does_not_run_as_root_and_its_base_image_is_named_once() -> None:
    assert re.findall(r"^ARG PYTHON=python:[\d.]+-slim$", DOCKERFILE, flags=re.MULTILINE)
    bases = set(re.findall(r"^FROM (\S+)", DOCKERFILE, flags=re.MULTILINE))
    assert bases == {"${PYTHON}", "dependencies"}
    assert DOCKERFILE.rindex("USER starcast") > DOCKERFILE.rindex("FROM ")


def test_the_dockerfile_copies_what_the_wheel_contains_and_nothing_that_is_ignored() -> None:
    """.dockerignore allows only the listed paths; a path missing there breaks the build."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, flags=re.MULTILINE)
    names = {name for each in copied for name in each.split()}
    assert names == {line[1:] for line in lines if line[:1] == "!"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]) <= names
