# The image of the starcast command: a client of the two databases, without the embedded stack's servers.
ARG PYTHON=python:3.13-slim

# Dependencies come before the sources: when only the code changes, their layer stays as it is.
FROM ${PYTHON} AS dependencies
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# An environment without pip, so that the image carries none twice.
RUN python -m venv --without-pip /opt/starcast
COPY pyproject.toml ./
RUN python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb')); \
        open('/tmp/run', 'w').write('\n'.join(p['project']['dependencies'])); \
        open('/tmp/build', 'w').write('\n'.join(p['build-system']['requires']))"
# numpy's own tests are a seventh of the environment and never run here.
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install --quiet --requirement /tmp/build \
 && pip --python /opt/starcast/bin/python install --quiet --requirement /tmp/run \
 && find /opt/starcast -path '*/numpy/*' -type d -name tests -prune -exec rm -r {} +

FROM dependencies AS wheel
COPY README.md LICENSE ./
COPY migrations migrations
COPY queries queries
COPY examples examples
COPY service service
RUN pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /tmp/wheel .

FROM ${PYTHON}
RUN useradd --uid 10001 --user-group --create-home --shell /usr/sbin/nologin starcast \
 && touch /etc/starcast.toml
COPY --from=dependencies /opt/starcast /opt/starcast
RUN --mount=type=bind,from=wheel,source=/tmp/wheel,target=/tmp/wheel \
    pip --python /opt/starcast/bin/python install --quiet --no-cache-dir --disable-pip-version-check \
        --root-user-action=ignore --no-deps --no-index /tmp/wheel/*.whl
# Settings come from the environment, or from a file mounted over the empty one; never from the user's in /work.
# pip has compiled the modules already; the user may write none. What is said reaches the log line by line.
ENV PATH=/opt/starcast/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 STARCAST_CONFIG=/etc/starcast.toml
USER starcast
WORKDIR /work
# As process 1 Python is deaf to SIGTERM; SIGINT ends it in order.
STOPSIGNAL SIGINT
ENTRYPOINT ["starcast"]
CMD ["--help"]
