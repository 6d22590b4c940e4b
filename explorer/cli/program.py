"""The program as a terminal sees it: its name, its help, its output and its exit codes."""

from __future__ import annotations

import codecs
import contextlib
import errno
import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from explorer.errors import LineageError, NeedsText
from explorer.visible_text import escape_in_json, escape_invisible

SUCCESS, UNWRITABLE, IMPOSSIBLE, INTERRUPTED = 0, 1, 2, 130
SIGNAL_EXIT = 128  # plus the number of the signal, as in a shell
EXIT_CODES = """\b
Exit codes:
  0    the command has done what was requested
  1    the output could not be written: its reader has ended, or the disk is full
  2    an argument, a file or a run cannot be used; one sentence says why
  130  interrupted with Ctrl-C (143: by SIGTERM)"""
# Typographic characters of our sentences and tables, for terminals and files that cannot hold them.
_PLAIN = {
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("–−‐", "-"),
    **dict.fromkeys("\u00a0\u202f", " "),
    **{"…": "...", "×": "x", "·": "-", "█": "#", "␣": "_", "→": "->", "≤": "<=", "≥": ">="},
}


def program_name() -> str:
    """Return the name with which this program was started: `lineage`, or `python -m explorer`.

    A shell can only complete a single word, so completion is always installed for `lineage`.
    """
    if {"--install-completion", "--show-completion"} & set(sys.argv):
        return "lineage"
    return "python -m explorer" if os.path.basename(sys.argv[0]) == "__main__.py" else "lineage"


class _NamesProgram:
    """A command whose examples begin with the name of the program."""

    epilog: str | None

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        epilog = self.epilog
        try:
            self.epilog = epilog and re.sub(r"^  lineage\b", f"  {ctx.find_root().info_name}", epilog, flags=re.M)
            super().format_epilog(ctx, formatter)  # type: ignore[misc]  # of the class beside this one
        finally:
            self.epilog = epilog


class Command(_NamesProgram, TyperCommand):
    """A command of the program."""


class Group(_NamesProgram, TyperGroup):
    """The commands of the program."""


def format_examples(examples: Mapping[str, str]) -> str:
    """Return examples, each a command line with what it does, as the last paragraph of a help text."""
    lines = [line for command, purpose in examples.items() for line in (f"  # {purpose}", f"  {command}")]
    return "\n".join(("\b", "Examples:", *lines))


def run_program(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code.

    An error is one sentence on standard error. With --json it is also one line on standard output, of kind "error".
    """
    _accept_every_character()
    _log_sentences()
    try:
        try:
            # Only an early exit gives a number here; no command returns anything.
            code = int(app(list(arguments), prog_name=program_name(), standalone_mode=False) or SUCCESS)
        except LineageError as error:
            advice = ["On the command line, give its file with --corpus FILE."] if isinstance(error, NeedsText) else []
            code = _report(" ".join((str(error), *getattr(error, "__notes__", ()), *advice)))
        except typer.Abort:
            code = INTERRUPTED
        except Exception as error:
            if not hasattr(error, "format_message"):  # not one of typer's own, about options and arguments
                raise
            code = _report_usage(error)
        if sys.stdout:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        return _end_without_output(error)


def print_json(message: Mapping[str, Any]) -> None:
    """Print one JSON object on a line; characters that the output cannot hold are escaped."""
    line = escape_in_json(json.dumps(message, ensure_ascii=False))
    try:
        line.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        line = json.dumps(message)
    print(line, flush=True)


def print_result(as_json: bool, text: str, **message: Any) -> None:
    """Print what a command has done: a text, or the message as JSON."""
    if as_json:
        print_json(message)
    else:
        print(text)


def _report(message: str, code: int = IMPOSSIBLE) -> int:
    if "--json" in sys.argv:
        print_json({"kind": "error", "message": message, "code": code})
    print(escape_invisible(message), file=sys.stderr)
    return code


def _report_usage(error: Any) -> int:
    if not error.format_message():  # the help is the whole message
        error.show()
        return int(error.exit_code)
    context = getattr(error, "ctx", None)
    name = context.command_path if context else program_name()
    message = error.format_message().strip()
    return _report(f"{message}{'' if message.endswith(('.', '?')) else '.'} See {name} --help.", int(error.exit_code))


def _accept_every_character() -> None:
    """Let both outputs replace a character that their encoding does not have."""
    codecs.register_error("plain", _replace_by_plain)
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="plain")


class _Sentence(logging.Formatter):
    def formatException(self, ei: Any) -> str:
        return ""


def _log_sentences() -> None:
    """Print warnings of the program as sentences. The app sets up its own log."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Sentence("%(message)s"))
    logging.basicConfig(handlers=[handler])
    warnings.showwarning = lambda message, *_: print(escape_invisible(str(message)), file=sys.stderr)


def _replace_by_plain(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    replaced = (
        _PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in error.object[error.start : error.end]
    )
    return "".join(replaced), error.end


def _end_without_output(error: OSError) -> int:
    """Return the exit code after an output that cannot be written, or after an unexpected error of a file.

    What is still buffered is dropped; otherwise Python would print a traceback at its end.
    """
    if error.errno != errno.EPIPE:
        what = "The output" if error.filename is None else f"“{escape_invisible(str(error.filename))}”"
        with contextlib.suppress(OSError):
            print(f"{what} cannot be used: {error.strerror}.", file=sys.stderr, flush=True)
    for stream in (sys.stdout, sys.stderr):
        try:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, stream.fileno())
            os.close(nothing)
        except (OSError, ValueError, AttributeError):  # no stream, or one of a test without a file
            continue
    return UNWRITABLE
