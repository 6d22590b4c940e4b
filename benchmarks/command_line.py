"""Writes docs/command-line.md: an introduction, and the help of every command as the program prints it.

python -m benchmarks.command_line
"""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
from unittest import mock

from explorer.__main__ import COMMANDS, app

FILE = Path(__file__).parents[1] / "docs" / "command-line.md"
_INTRODUCTION = """# The command line

`python -m benchmarks.command_line` writes this page from the help of the program; a test compares both.

`lineage` and `python -m explorer` are the same program. Without a command it opens the app in the browser; with a
command it works in the terminal:

```
lineage list --task negation                                            # what there is
lineage predict negation-single-rnn "human not preserve nature"         # ask an included run
lineage settings --task negation --model transformer                    # what can be changed
lineage train --task negation --model transformer --replicas 8 --set p_not=0.5
lineage evaluate KEY                                                     # KEY is printed by train and list
lineage export KEY run.zip                                               # or run.py, run.ipynb
```

**Names of runs.** Included runs have names such as `negation-single-rnn`. Your own runs have keys of twelve letters and
digits, computed from the configuration: the same settings give the same key, and on the same kind of machine the same
curve, bit for bit. Instead of a name or a key, a command also takes the path of a run folder.

**Ctrl-C during `train`** stores what has been trained so far and prints the command that continues it:
`lineage train --resume KEY`. The result is the same as without the interruption. A second Ctrl-C ends the training at
once and stores nothing. SIGTERM and a closed terminal count as Ctrl-C.

**Cores.** A training with large steps uses the cores that are idle; `OMP_NUM_THREADS=1` limits it to one. With another
number of threads PyTorch may add in another order, and the last digits of a curve may differ.

**Nothing is overwritten** without `--force`: neither files of `export` and `inspect`, nor a folder given by `--out`.
If the run of a training exists already, `train` shows that run. `import` never replaces a run.

**Output for programs.** With `--json`, standard output has one JSON object per line. Its field `kind` says what it is:

| kind | printed by |
| --- | --- |
| `model`, `task`, `pretrained` (an included run), `run` | `list` |
| `setting` | `settings` |
| `step`, `evaluation`, `finished`, `stopped` | `train`, `pretrain`; `evaluation` also by `evaluate` |
| `trial`, `swept` | `sweep` |
| `prediction` | `predict` |
| `generated` | `generate` |
| `head`, `token`, `state` | `inspect` |
| `exported`, `imported`, `deleted`, `reindexed` | the command of this name |
| `lesson`, `step`, `measure` | `lessons` |
| `opened`, `allowed` (a model that may be downloaded) | `open` |
| `closed` | `close` |
| `folder`, `version` | `where` |
| `error` | every command; standard error has the same sentence, and the exit code is 2 |

**Exit codes.** 0: the command has finished. 1: the output could not be written, because its reader has ended or the
disk is full. 2: an argument is not possible, or a file or run cannot be used; one sentence says why. 130: interrupted
with Ctrl-C. 143: interrupted by SIGTERM.

**Completion.** `lineage --install-completion` completes commands, options, runs, tasks, models, presets, corpora,
lessons and, after `--set`, the settings of the chosen task and model, in bash, zsh, fish and PowerShell. It works for
the command `lineage` only, not for `python -m explorer`.

**Where files go.** `lineage where` prints the folders of runs and downloads, with their sizes, and how to remove them.
"""


def help_of(*words: str) -> str:
    """Return the help that the program prints, 80 characters wide."""
    with mock.patch.dict(os.environ, {"COLUMNS": "80"}), contextlib.redirect_stdout(io.StringIO()) as out:
        app([*words, "--help"], prog_name="lineage", standalone_mode=False)
    return out.getvalue().strip()


def reference() -> str:
    """Return the content of docs/command-line.md."""
    parts = [_INTRODUCTION, f"## lineage\n\n```\n{help_of()}\n```\n"]
    parts += [f"## lineage {name}\n\n```\n{help_of(name)}\n```\n" for name in COMMANDS]
    return "\n".join(parts)


if __name__ == "__main__":
    FILE.write_text(reference(), encoding="utf-8")
