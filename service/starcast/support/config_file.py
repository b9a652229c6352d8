"""The path of the settings file, which commands find without loading all settings."""

import os
from pathlib import Path

import platformdirs

#: The beginning of the names of all variables.
PREFIX = "STARCAST_"
#: The variable that names the settings file.
CONFIG = f"{PREFIX}CONFIG"


def config_file() -> Path:
    """Return the path of the settings file, which need not exist.

    It is ``STARCAST_CONFIG``, else ``starcast.toml`` in the working directory, else the file of
    that name in the user's configuration folder.
    """
    if path := os.environ.get(CONFIG):
        return Path(path)
    local = Path("starcast.toml")
    return local if local.is_file() else platformdirs.user_config_path("starcast") / local
