"""``python -m starcast``: the command ``starcast``."""

from starcast.cli.app import main

if __name__ == "__main__":
    main()
