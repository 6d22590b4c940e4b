"""Characters that a reader cannot see, in texts that visitors enter and in files that leave the program.

Bidirectional controls show a line in another order than it has (Boucher and Anderson 2021, "Trojan Source"), and
zero-width characters make different names look equal. `static/shared/runtime/visible_text.js` does the same in the
browser.
"""

from __future__ import annotations

import json
import re
import unicodedata

_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")  # Unicode categories: controls, formats, surrogates, separators of lines
# Left out: the joiners U+200C and U+200D, which Persian, Hindi and many emoji are written with.
_REMOVED = dict.fromkeys([0x061C, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF])


def escape_invisible(text: str) -> str:
    """Return a text in which every invisible character, also a line break, is the escape of a Python string."""
    return "".join(c.encode("unicode_escape").decode() if _is_invisible(c) else c for c in text)


def escape_in_json(text: str) -> str:
    r"""Return a JSON document with the same content, in which invisible characters of its strings are escaped."""
    return re.sub(r"[^\x20-\x7e\n]", lambda c: json.dumps(c[0])[1:-1] if _is_invisible(c[0]) else c[0], text)


def remove_formatting(text: str) -> str:
    """Return a text without bidirectional controls and zero-width spaces."""
    return text.translate(_REMOVED)


def remove_controls(text: str) -> str:
    """Return a text without control characters, except line breaks and tabs, and without formatting characters."""
    return "".join(c for c in remove_formatting(text) if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))


def clean_line(text: str) -> str:
    """Return a text without control and formatting characters as one line with single spaces."""
    return " ".join(remove_controls(text).split())


def _is_invisible(char: str) -> bool:
    return unicodedata.category(char) in _INVISIBLE
