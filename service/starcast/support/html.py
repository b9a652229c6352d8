"""HTML pages from the templates in ``pages``, for a server or as self-contained files.

A page links to the style sheet and the scripts in the static folder. `inline_files` inserts these
files into the page, which then works without a server or a network.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from starcast.support.errors import LAYOUT
from starcast.support.errors import escape as escape_unprintable
from starcast.support.text import format_value

if TYPE_CHECKING:
    from jinja2 import Environment

_PAGES = Path(__file__).parent / "pages"
#: The folder with the style sheet, scripts and icon that pages load from a server.
STATIC = _PAGES / "static"

_CODE = re.compile(r"`([^`]+)`")
#: A symbol with a subscript. It has one or two letters before the subscript, like T_s or S_{n-1},
#: or capitals in the subscript. Other names with underscores, such as ``message_bytes``, are column
#: names.
_INDEX = re.compile(
    r"(?:(?<![A-Za-z_])([A-Za-z\u0370-\u03ff]{1,2})_(\{[^{}]*\}|\([^()]*\)\w*|\w+)"
    r"|\b([a-z]+)_([A-Z]+))(?![A-Za-z_])"
)
_EXPONENT = re.compile(r"(?<=[\w!)>])\^(\{[^{}]*\}|\([^()]*\)|-?\w+)")
_EMPHASIS = re.compile(r"\*([^*\s][^*]*)\*")
_STYLE = re.compile(r'<link rel="stylesheet" href="[./]*static/([a-z./-]+)">\n')
_SCRIPT = re.compile(r'<script type="module" src="[./]*static/([a-z./-]+)"></script>\n')
_ICON = re.compile(r'<link rel="icon" href="[^"]*">')
_IMPORT = re.compile(r'^import [^;]*? from "(\.[./a-z-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=class|function|async|const|let)", re.MULTILINE)


def render_page(template: str, **values: Any) -> str:
    """Return a page that links to its style sheet and scripts.

    Args:
        template: the file name of the template.
        values: the variables of the template. ``navigation`` lists the pages in the navigation bar
            (default: no bar), ``root`` is the relative URL of the server's root, and ``has_forms``
            is True if the server processes forms.
    """
    values = {"root": "", "section": "", "navigation": (), "has_forms": False, **values}
    return _environment().get_template(template).render(values)


def inline_files(page: str, data: str = "") -> str:
    """Return a page in which the style sheet and the scripts replace the links to these files.

    The page also has a security policy that allows no other styles and scripts.

    Args:
        page: the page, with links to files in the static folder.
        data: HTML elements to add at the end of the page, which the scripts read.
    """
    style = "".join(_read(name) for name in _STYLE.findall(page))
    modules = [text for name in _SCRIPT.findall(page) for text in _modules(STATIC / name, set())]
    # A string in a script may contain ``</script``, which would end the script element.
    script = "".join(modules).replace("</script", "<\\/script")
    policy = (
        f"default-src 'none'; img-src data: blob:; style-src '{_digest(style)}'; "
        f"script-src '{_digest(script)}'"
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    # Links to styles and scripts are removed, and the icon is replaced by an empty one, because the
    # security policy blocks these files and the browser would report errors.
    page = _SCRIPT.sub("", _STYLE.sub("", page))
    page = _ICON.sub('<link rel="icon" href="data:,">', page)
    # The policy is inserted early, because it applies only to the elements that follow it.
    page = page.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{meta}', 1)
    page = page.replace("</head>", f"<style>{style}</style>\n</head>", 1)
    element = f'<script type="module">{script}</script>\n' if script else ""
    before, _, after = page.rpartition("</body>")
    return f"{before}{data}{element}</body>{after}"


def inline_html(text: str) -> Markup:
    """Convert a sentence with Markdown code and emphasis, and formulas such as S_n, to HTML."""
    shown = escape(escape_unprintable(text, LAYOUT), quote=False)
    # An asterisk in code does not begin or end an emphasis.
    code = _CODE.sub(lambda found: f"<code>{found[1].replace('*', '&#42;')}</code>", typeset(shown))
    return Markup(_EMPHASIS.sub(r"<em>\1</em>", code))  # noqa: S704 - escaped above


def typeset(text: str) -> str:
    """Mark up subscripts and exponents with HTML tags, for HTML or Markdown.

    Code in backquotes is not changed.

    Example:
        >>> typeset("n^2 links of S_{n-1}, as `t_s`")
        'n<sup>2</sup> links of S<sub>n-1</sub>, as `t_s`'
    """
    parts = text.split("`")
    # Text and code alternate; only the text is changed.
    parts[::2] = map(_typeset_formulas, parts[::2])
    return "`".join(parts)


def _typeset_formulas(text: str) -> str:
    text = _INDEX.sub(_as_index, text)
    return _EXPONENT.sub(lambda found: f"<sup>{found[1].strip('{}()')}</sup>", text)


def _as_index(found: re.Match[str]) -> str:
    name, index = filter(None, found.groups())
    return f"{name}<sub>{index.strip('{}')}</sub>"


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - slow

    environment = Environment(
        loader=FileSystemLoader(_PAGES / "templates"),
        autoescape=True,
        # By default, Jinja2 prints nothing for a missing value, so a defect could remain unnoticed.
        undefined=StrictUndefined,
        finalize=_show_unprintable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "cell": format_value,
        "inline": inline_html,
        "minutes": to_minutes,
        # t_s and t_c are symbols; in other names, underscores separate words.
        "words": lambda name: name if name in {"t_s", "t_c"} else name.replace("_", " "),
        "css": lambda verdict: (verdict or "").replace(" ", "-"),
        "repeats": _group_repeats,
    }
    return environment


def to_minutes(time: str) -> str:
    """Shorten a time in ISO format to its date, hours and minutes, for display on pages."""
    return time[:16].replace("T", " ")


def _show_unprintable(value: Any) -> Any:
    """Return the value of a template's variable; unprintable characters in text are escaped."""
    is_plain = isinstance(value, str) and not isinstance(value, Markup)
    return escape_unprintable(value, LAYOUT) if is_plain else value


def _group_repeats(values: Iterable[int]) -> str:
    """Return a list of numbers as text in which repetitions are counted: ``4, 8 (12 times), 3``."""
    groups = [(value, len(list(group))) for value, group in groupby(values)]
    return ", ".join(f"{value} ({n} times)" if n > 1 else str(value) for value, n in groups)


@cache
def read_palette() -> tuple[str, ...]:
    """Return the colours of curves and trees in light mode, as the style sheet defines them."""
    light = _read("starcast.css").partition("@media")[0]
    return tuple(re.findall(r"--tree-[0-9]: (#[0-9a-f]{6})", light))


def _read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _modules(file: Path, done: set[Path]) -> Iterator[str]:
    """Yield the code of all JavaScript modules that a module imports, then the module's own code.

    Import and export statements are removed, so that the code forms a single script. Imported
    modules in ``done`` are omitted; every yielded module is added to ``done``.
    """
    done.add(file)
    text = file.read_text(encoding="utf-8")
    for name in _IMPORT.findall(text):
        imported = (file.parent / name).resolve()
        if imported not in done:
            yield from _modules(imported, done)
    yield _EXPORT.sub("", _IMPORT.sub("", text))


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
