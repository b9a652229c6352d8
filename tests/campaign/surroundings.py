"""Commands in unusual environments: streams, locales, PostgreSQL sessions and rights."""

import secrets
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from sqlalchemy import URL, create_engine, text

from campaign import commands
from campaign.output import Outcome, find_problems
from campaign.servers import Servers, finish
from starcast.embedded.home import Home
from starcast.stores import ROLE_NAMES
from support.fix_servers import superuser_url, without_password

_REDIRECTIONS = (
    "", "", "<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", "&>/dev/full",
    "1</dev/null", "2</dev/null", "> >(exec true)", "> >(head -c 1)", "&> >(head -c 1)",
    "2> >(exec true)", ">>/dev/stdout", "0>/dev/null",
)  # fmt: skip
_VARIABLES = {
    "PYTHONIOENCODING": ("ascii", "latin-1", "cp437", "utf-16", "utf-8:surrogateescape", ":strict"),
    "LC_ALL": ("C", "POSIX", "C.UTF-8", "de_DE.ISO-8859-1", "xx_YY"),
    "PYTHONUTF8": ("0", "1"),
    "PYTHONCOERCECLOCALE": ("0",),
    "TERM": ("", "dumb", "xterm", "nonsense"),
    "COLUMNS": ("0", "1", "-1", "x", "9" * 30),
    "FORCE_COLOR": ("1",),
    "PYTHONUNBUFFERED": ("1",),
    "TZ": ("UTC", "Asia/Kathmandu", "nonsense"),
    "HOME": ("/nonexistent", "/dev/null", ""),
    "XDG_STATE_HOME": ("/dev/null", "/proc"),
    "STARCAST_LOG_FILE": ("/dev/full", "/dev/stdout", "/proc/x", "/"),
}
_COMMANDS = (
    "topology show S4", "topology list -f json", "forest show S4 multiple", "query list",
    "forest constructions -f markdown", "forest draw S3 multiple",
    "schedule rows S3 alltoall exact",
    "topology show S99", "query list --nonsense", "forest list --help", "--version", "config",
    "query run overlap/shared-links forest=S4:multiple:1234", "experiment show baseline -f latex",
    "experiment export baseline", "compare baseline baseline", "ingest S4 --trees multiple -v",
    "forest drop S4:none:1234", "claims report", "records list", "topology export S3 --to dot",
)  # fmt: skip

#: PostgreSQL settings of a role, and the values to try.
_SESSION = {
    "client_encoding": ("LATIN1", "SQL_ASCII", "UTF8", "EUC_JP"),
    "datestyle": ("German", "'SQL, DMY'", "Postgres"),
    "intervalstyle": ("iso_8601", "sql_standard"),
    "timezone": ("'Asia/Kathmandu'", "'-99:00'"),
    "bytea_output": ("escape",),
    "extra_float_digits": ("-15",),
    "search_path": ("pg_catalog", "nowhere", "''"),
    "default_transaction_read_only": ("on",),
    "default_transaction_isolation": ("serializable", "'read uncommitted'"),
    "statement_timeout": ("1", "20"),
    "lock_timeout": ("1",),
    "idle_in_transaction_session_timeout": ("1",),
    "standard_conforming_strings": ("off",),
    "row_security": ("off",),
    "work_mem": ("64",),
    "lc_messages": ("'C'",),
    "role": tuple(ROLE_NAMES.values()),
}
_RIGHTS = (
    "NOLOGIN", "CONNECTION LIMIT 0", "CONNECTION LIMIT 1", "VALID UNTIL '2001-01-01'",
    *("",) * 4,
)  # fmt: skip
#: Variables of libpq that change a connection.
_LIBPQ = {
    "PGOPTIONS": ("-c nonsense=1", "-c geqo=off", "--"),
    "PGCLIENTENCODING": ("LATIN1", "nonsense"),
    "PGDATESTYLE": ("German", "nonsense"),
    "PGTZ": ("UTC", "nonsense"),
    "PGSSLMODE": ("disable", "require", "verify-full", "nonsense"),
    "PGSERVICE": ("nonsense",),
    "PGCONNECT_TIMEOUT": ("x", "-1", "1"),
    "PGHOSTADDR": ("127.0.0.1", "256.1.1.1", "é"),
    "PGPASSFILE": ("/", "/dev/full", "/nonexistent"),
    "PGTARGETSESSIONATTRS": ("standby", "nonsense"),
    "PGAPPNAME": ("é" * 40,),
}


def odd_streams(servers: Servers, draw: Random) -> Outcome:
    """Run a command with unusual standard streams and environment variables."""
    words = tuple(shlex.split(draw.choice(_COMMANDS)))
    redirection = draw.choice(_REDIRECTIONS)
    environment = _some_of(draw, _VARIABLES)
    process = servers.start(
        *words,
        environment=environment,
        program=("bash", "-c", f'exec "$@" {redirection}', "bash", sys.executable),
    )
    done = finish(process, words, 120)
    # Without stderr there is no error to check.
    has_errors = "2" not in redirection and "&" not in redirection
    problems = [each for each in find_problems(done) if has_errors or "errors and" not in each]
    return f"{environment} {' '.join(words)} {redirection}", done.result, problems


def odd_session(servers: Servers, draw: Random) -> Outcome:
    """Run a command as a PostgreSQL role with random settings and rights."""
    baseline = servers.snapshot()
    words = commands.change(draw) if draw.random() < 0.3 else commands.read(draw)
    with _random_role(_superuser_url(servers), draw) as (url, description):
        secret = servers.folder / "role-password"
        secret.touch(mode=0o600)
        secret.write_text(str(url.password), encoding="utf-8")
        own = {
            "STARCAST_POSTGRES_URI": without_password(url),
            "STARCAST_POSTGRES_PASSWORD_FILE": str(secret),
        }
        libpq = _some_of(draw, _LIBPQ) if draw.random() < 0.5 else {}
        done = servers.run(*words, environment={**servers.addresses(), **own, **libpq})
    problems = find_problems(done) + servers.check_recovery(baseline, [words])
    return f"{description} {libpq} {' '.join(words)}", done.result, problems


def _superuser_url(servers: Servers) -> URL:
    """Return the URL of a role with the right to create roles, which starcast's own roles lack."""
    if servers.home is None:
        return servers.url
    assert servers.url.port is not None
    return superuser_url(Home(servers.home), servers.url.port)


def _some_of(draw: Random, choices: dict[str, tuple[str, ...]]) -> dict[str, str]:
    names = draw.sample(list(choices), draw.randint(0, 3))
    return {name: draw.choice(choices[name]) for name in names}


@contextmanager
def _random_role(url: URL, draw: Random) -> Iterator[tuple[URL, str]]:
    """Create a role with random settings and rights; yield its URL and a description."""
    name = f"campaign_{draw.randrange(10**6)}"
    password = secrets.token_hex(8)
    group = draw.choice((*ROLE_NAMES.values(), *ROLE_NAMES.values(), ""))
    rights = draw.choice(_RIGHTS)
    values = _some_of(draw, _SESSION)
    create = [f"CREATE ROLE {name} LOGIN {rights} PASSWORD '{password}'"]
    create += [f"GRANT {group} TO {name}"] if group else []
    create += [f"ALTER ROLE {name} SET {setting} = {value}" for setting, value in values.items()]
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            for statement in create:
                connection.execute(text(statement.replace("LOGIN NOLOGIN", "NOLOGIN")))
        yield url.set(username=name, password=password), f"{group} {rights} {values}"
    finally:
        with engine.connect() as connection:
            for statement in (f"REASSIGN OWNED BY {name} TO CURRENT_USER", f"DROP OWNED BY {name}"):
                connection.execute(text(statement))
            connection.execute(text(f"DROP ROLE {name}"))
        engine.dispose()
