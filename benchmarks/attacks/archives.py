"""Archives that are made hostile from valid ones, and what importing them does to a process.

A mutated configuration is given the card that belongs to it, because a wrong key would end the import at once; so the
later checks are reached as well.
"""

from __future__ import annotations

import ctypes
import gc
import io
import json
import os
import random
import signal
import struct
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.attacks.settings import random_sizes
from explorer.environment import environment
from explorer.errors import LineageError
from explorer.jobs import limits
from explorer.run_store import operations, store
from explorer.run_store.archive.read import import_zip
from explorer.run_store.archive.write import pack
from explorer.training.config import default_config, key, parse_config, to_json, with_settings

Files: TypeAlias = dict[str, bytes]

BASES = (  # included runs: every task, most models
    "negation-single-rnn",
    "negation-half-transformer",
    "negation-double-bag_of_words",
    "recall-10-lstm-chrono",
    "recall-25-transformer-learned",
    "reverse-vector",
    "dates-transformer",
    "noise-causal",
    "tale-open",
    "echo-rotary",
    "gloss-gru",
    "gist-two",
    "place-turns-rnn",
    "agreement-heads",
    "text-ngram",
    "text-lstm",
    "text-window-2",
)
CONFIG, CARD, CURVES, TOKENIZER = "config.json", "card.json", "curves.safetensors", "tokenizer.json"
MOST_SECONDS = 60  # after which an import counts as stuck
MOST_MEMORY = 3_000_000_000  # bytes that the process may take beyond its start: the machine has other users
NUMBERS = (0, -1, 1, 2, 0.5, -0.0, 1e-300, 1e308, 2**31 - 1, 2**31, 2**63, 10**400, float("nan"), float("inf"))
TEXTS = (
    "",
    "a" * 5_000,
    "\x00\x1b[31m",
    "\u202eexe.zip\u2066",
    "\ud800",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "٣",
    "🙂" * 200,
    "nan",
    "1e9",
    "own",
    "0" * 64,
)
VALUES = (*NUMBERS, *TEXTS, None, True, False, [], {}, [[]], [0] * 3_000, {"name": {}}, ["x", 1, None])
NAMES = (
    "../evil",
    "/etc/passwd",
    "C:/x",
    "a\\b",
    "x" * 60_000,
    "snapshots/00000000.safetensors/",
    "snapshots/99999999.safetensors",
    "snapshots/-0000001.safetensors",
    "optimiser/00000000.safetensors",
    "run.zip",
    "config.json",
    "CONFIG.JSON",
    "card.json ",
    "__MACOSX/._card.json",
    ".DS_Store",
    "snapshots/.DS_Store",
    "events.parquet",
    "tokenizer.json",
    "\u202etxt.nosj",
    "",
)


@cache
def valid_archive(name: str) -> bytes:
    """Return the exported zip of an included run."""
    return pack(store.find(name))


@cache
def valid_files(name: str) -> tuple[tuple[str, bytes], ...]:
    with zipfile.ZipFile(io.BytesIO(valid_archive(name))) as archive:
        return tuple((info.filename, archive.read(info)) for info in archive.infolist())


def zip_files(files: Files | list[tuple[str, bytes]], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip with these files; a list may name one twice."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression, compresslevel=1) as archive:
        for name, content in files.items() if isinstance(files, dict) else files:
            info = zipfile.ZipInfo(name or "x", (1980, 1, 1, 0, 0, 0))
            if not name:
                info.filename = ""
            info.external_attr = 0o644 << 16
            archive.writestr(info, content, compression)
    return out.getvalue()


def with_card_of(files: Files, chance: random.Random) -> Files:
    """Return the files with the card of their configuration, if it is one; mostly with plausible numbers."""
    try:
        config = parse_config(json.loads(files[CONFIG]))
        card = json.loads(files[CARD])
        card["key"] = key(config)
        if chance.random() < 0.8:
            card["step"] = config.steps
    except (LineageError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
        return files
    return {**files, CARD: json.dumps(card).encode()}


# ---- mutations of the files; each returns the bytes of a zip ----


def mutate_content(files: Files, chance: random.Random) -> bytes:
    """Change the bytes of one file inside the zip."""
    name = chance.choice(list(files))
    return zip_files({**files, name: _mutate_bytes(files[name], chance)})


def mutate_json(files: Files, chance: random.Random) -> bytes:
    """Change values of the configuration, the card or the tokenizer to hostile ones."""
    names = [name for name in (CONFIG, CONFIG, CARD, CARD, TOKENIZER) if name in files]
    name = chance.choice(names)
    data = json.loads(files[name])
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        _mutate_value(data, chance)
    text = json.dumps(data).encode()
    if chance.random() < 0.08:
        depth = chance.choice((500, 2_000, 100_000))
        text = text.replace(b": 1", b": " + b"[" * depth + b"]" * chance.choice((0, depth)), 1)
    if chance.random() < 0.05:
        text = text.replace(b": 1", b": " + b"9" * chance.choice((400, 5_000, 900_000)), 1)
    files = {**files, name: text}
    return zip_files(with_card_of(files, chance) if name == CONFIG else files)


def enlarge_settings(files: Files, chance: random.Random) -> bytes:
    """Ask for large sizes that each setting allows, with the card that belongs to them; the attack of row 3."""
    config = random_sizes(parse_config(json.loads(files[CONFIG])), chance)
    return zip_files(with_card_of({**files, CONFIG: json.dumps(to_json(config)).encode()}, chance))


def mutate_tensor_header(files: Files, chance: random.Random) -> bytes:
    """Change the header of a file of tensors: names, types, shapes, offsets, its length."""
    name = chance.choice([name for name in files if name.endswith(".safetensors")])
    content = files[name]
    length = int.from_bytes(content[:8], "little")
    header, rest = json.loads(content[8 : 8 + length]), content[8 + length :]
    tensors = [each for each in header if each != "__metadata__"]
    one = chance.choice(tensors)
    match chance.randrange(9):
        case 0:
            header[one]["shape"] = chance.choice(([], [0], [2**40], [2**62, 4], [-1], [1] * 5_000, ["1"], None, [1e3]))
        case 1:
            header[one]["dtype"] = chance.choice(("F64", "F16", "BF16", "F8_E4M3", "I64", "U8", "BOOL", "", "X" * 9, 1))
        case 2:
            start, end = header[one]["data_offsets"]
            moved = ([start + 4, end + 4], [0, 2**63], [end, start], [-4, 4], [start, end - 4], [0.5, 4], [0])
            header[one]["data_offsets"] = chance.choice(moved)
        case 3:
            header[chance.choice(TEXTS)] = header.pop(one)
        case 4:
            many = {str(i): "" for i in range(10_000)}
            header["__metadata__"] = chance.choice(({"a": "b" * 10**6}, {"a": {}}, [], many))
        case 5:
            length = chance.choice((0, 1, 2**20, 2**32, 2**63, 2**64 - 1))
            return zip_files({**files, name: length.to_bytes(8, "little") + content[8:]})
        case 6:
            del header[one]
        case 7:
            text = b'{"a":' * 20_000 + b"}" * 20_000
            return zip_files({**files, name: len(text).to_bytes(8, "little") + text + rest})
        case 8:
            _mutate_value(header, chance)
    text = json.dumps(header).encode()
    return zip_files({**files, name: len(text).to_bytes(8, "little") + text + rest})


def mutate_numbers(files: Files, chance: random.Random) -> bytes:
    """Write other numbers into the curves or weights: not finite, huge, negative, moved."""
    name = chance.choice([CURVES, CURVES, *(name for name in files if name.endswith(".safetensors"))])
    content = bytearray(files[name])
    begin = 8 + int.from_bytes(content[:8], "little")
    numbers = (struct.pack("<f", float("nan")), struct.pack("<f", float("inf")), struct.pack("<f", 3e38))
    numbers += (struct.pack("<d", float("nan")), struct.pack("<q", 2**62), struct.pack("<q", -5))
    numbers += (b"\xff" * 8, b"\0" * 8)
    for _ in range(chance.choice((1, 5, 200))):
        value = chance.choice(numbers)
        at = begin + 4 * chance.randrange(max(1, (len(content) - begin - 8) // 4))
        content[at : at + len(value)] = value
    return zip_files({**files, name: bytes(content[: len(files[name])])})


def mutate_entries(files: Files, chance: random.Random) -> bytes:
    """Add, repeat, remove or rename entries; put archives into archives; links, devices, folders."""
    entries = list(files.items())
    match chance.randrange(9):
        case 0:
            entries.append((chance.choice(NAMES), b"x"))
        case 1:
            entries.append(chance.choice(entries))
        case 2:
            entries.remove(chance.choice(entries))
        case 3:
            at = chance.randrange(len(entries))
            entries[at] = (chance.choice(NAMES), entries[at][1])
        case 4:
            entries = [("run/" * chance.choice((1, 2, 40)) + name, content) for name, content in entries]
        case 5:
            entries += [(f"snapshots/{i:08d}.safetensors", b"") for i in range(chance.choice((10, 500, 5_000)))]
        case 6:
            return zip_files([("run.zip", zip_files(files)), *entries[: chance.choice((0, len(entries)))]])
        case 7:
            chance.shuffle(entries)
            one, other = chance.sample(range(len(entries)), 2)
            entries[one], entries[other] = (entries[one][0], entries[other][1]), (entries[other][0], entries[one][1])
        case 8:
            return _with_special_entry(entries, chance)
    return zip_files(entries, chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)))


def _with_special_entry(entries: list[tuple[str, bytes]], chance: random.Random) -> bytes:
    """Make one entry a link, a device, a folder or a pipe."""
    out, special = io.BytesIO(), chance.randrange(len(entries))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number, (name, content) in enumerate(entries):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            kind = chance.choice((0o120777, 0o020666, 0o040755, 0o010666)) if number == special else 0o100644
            info.external_attr = kind << 16
            archive.writestr(info, b"/etc/passwd" if number == special else content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def make_bomb(files: Files, chance: random.Random) -> bytes:
    """Return an archive that unpacks to far more than it is: zeros, or many entries that share their bytes."""
    name = chance.choice((CONFIG, CARD, CURVES, "metrics.csv", "MODEL_CARD.md", "events.parquet", "tokenizer.json"))
    size = chance.choice((900_000, 5_000_000, 49_000_000, 60_000_000, 300_000_000))
    filler = chance.choice((b"\0", b" ", b"[", b"9"))
    content = zip_files({**files, name: chance.choice((b"", files.get(name, b""))) + filler * size})
    if chance.random() < 0.5:  # the directory states a small size
        content = _write_directory_field(content, name.encode(), 24, struct.pack("<I", 200))
    return content


def overlap_entries(files: Files, chance: random.Random) -> bytes:
    """Let the directory entries of many steps point to the same bytes."""
    step = next(name for name in files if name.startswith("snapshots/"))
    entries = [*files.items(), *((f"snapshots/{i:08d}.safetensors", files[step]) for i in range(1, 300))]
    content = bytearray(zip_files(entries))
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as archive:
        offset = next(info.header_offset for info in archive.infolist() if info.filename == step)
    at = content.find(b"PK\1\2")
    while at >= 0:
        if content[at + 46 :].startswith(b"snapshots/") and chance.random() < 0.9:
            content[at + 42 : at + 46] = struct.pack("<I", offset)
        at = content.find(b"PK\1\2", at + 46)
    return bytes(content)


# ---- mutations of the zip itself ----


def mutate_zip_bytes(files: Files, chance: random.Random) -> bytes:
    """Change bytes anywhere in the zip."""
    content = zip_files(files)
    for _ in range(chance.choice((1, 1, 3, 50))):
        content = _mutate_bytes(content, chance)
    return content


def mutate_directory(files: Files, chance: random.Random) -> bytes:
    """Change fields of the zip's directory or local headers: sizes, offsets, flags, methods, checksums, counts."""
    content = zip_files(files)
    # offset and width in a directory entry: versions, flags, method, crc, sizes, lengths, disk, attributes, offset
    fields = ((4, 2), (6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (34, 2))
    fields += ((38, 4), (42, 4))
    for _ in range(chance.choice((1, 1, 2, 6))):
        offset, width = chance.choice(fields)
        most = 256**width - 1
        value = chance.choice((0, 1, most, most // 2, chance.randrange(most), 8, 0x2041 & most))
        name = chance.choice(list(files)).encode()
        content = _write_directory_field(content, name, offset, value.to_bytes(width, "little"))
    if chance.random() < 0.3:  # the record at the end: number of entries, size and offset of the directory, comment
        at = content.rfind(b"PK\5\6") + chance.choice((4, 8, 10, 12, 16, 20))
        content = content[:at] + chance.randbytes(chance.choice((2, 4))) + content[at + 4 :]
    if chance.random() < 0.2:  # the local header of a file differs from its directory entry
        at = content.find(b"PK\3\4", chance.randrange(len(content)))
        at = max(at, 0) + chance.choice((4, 6, 8, 14, 18, 22, 26, 28))
        content = content[:at] + chance.randbytes(2) + content[at + 2 :]
    return content


def _write_directory_field(content: bytes, name: bytes, offset: int, value: bytes) -> bytes:
    at = content.find(b"PK\1\2")
    while at >= 0 and content[at + 46 : at + 46 + len(name)] != name:
        at = content.find(b"PK\1\2", at + 46)
    return content if at < 0 else content[: at + offset] + value + content[at + offset + len(value) :]


def attack_events_of_earlier_versions(files: Files, chance: random.Random) -> bytes:
    """Leave out the tensors of the curves, so that `events.parquet` is decoded, with changed bytes."""
    events = files["events.parquet"]
    for _ in range(chance.choice((1, 3))):
        events = _mutate_bytes(events, chance)
    files = {**files, "events.parquet": events}
    del files[CURVES]
    return zip_files(files)


def leave_unchanged(files: Files, chance: random.Random) -> bytes:
    """Change a seed and nothing else: the weights are those of another run, but of the same shapes."""
    data = json.loads(files[CONFIG])
    data["seed"] = chance.randrange(10**6)
    card = json.loads(files[CARD]) | {"key": key(parse_config(data))}
    return zip_files({**files, CONFIG: json.dumps(data).encode(), CARD: json.dumps(card).encode()})


def _mutate_bytes(content: bytes, chance: random.Random) -> bytes:
    if not content:
        return chance.randbytes(20)
    at, length = chance.randrange(len(content)), chance.choice((1, 1, 4, 64, 4_000))
    match chance.randrange(5):
        case 0:
            return content[:at] + bytes([content[at] ^ (1 << chance.randrange(8))]) + content[at + 1 :]
        case 1:
            return content[:at]
        case 2:
            return content[:at] + chance.randbytes(length) + content[at + length :]
        case 3:
            return content[:at] + content[at : at + length] + content[at:]
        case _:
            return content[:at] + content[at + length :]


def _mutate_value(data: Any, chance: random.Random) -> None:
    """Change one value somewhere in JSON data in place: replace it, remove it, add or repeat one."""
    while True:
        places = list(data) if isinstance(data, dict) else list(range(len(data)))
        if not places:
            return
        place = chance.choice(places)
        if isinstance(data[place], (dict, list)) and data[place] and chance.random() < 0.85:
            data = data[place]
            continue
        match chance.randrange(6):
            case 0:
                del data[place]
            case 1 if isinstance(data, dict):
                data[chance.choice(TEXTS)] = chance.choice(VALUES)
            case 2 if isinstance(data[place], (int, float)):
                data[place] = data[place] * chance.choice((-1, 2, 10, 1_000)) + chance.choice((0, 1))
            case _:
                data[place] = chance.choice(VALUES)
        return


Mutation: TypeAlias = Callable[[Files, random.Random], bytes]
MUTATIONS: dict[Mutation, int] = {  # how often each is chosen
    mutate_json: 30,
    enlarge_settings: 14,
    mutate_tensor_header: 12,
    mutate_directory: 12,
    mutate_numbers: 8,
    mutate_content: 8,
    mutate_zip_bytes: 8,
    mutate_entries: 8,
    make_bomb: 3,
    overlap_entries: 1,
    attack_events_of_earlier_versions: 2,
    leave_unchanged: 2,
}


def make_archive(number: int, seed: int) -> tuple[str, bytes]:
    """Return the name and the bytes of hostile archive `number`, which depend on both arguments only."""
    chance = random.Random(f"{seed}/{number}")
    base = chance.choice(BASES)
    mutate = chance.choices(list(MUTATIONS), list(MUTATIONS.values()))[0]
    return f"{mutate.__name__} of {base}", mutate(dict(valid_files(base)), chance)


def archive_of_row_3(replicas: int = 8) -> bytes:
    """Return the archive of row 3: a few kilobytes whose configuration is a model of gigabytes."""
    sizes = {"width": 512, "hidden": 1_024, "layers": 8, "task.context": 128, "replicas": replicas}
    config = with_settings(default_config("text", "lstm"), sizes)
    kept = {name: content for name, content in valid_files("text-lstm") if name in (CONFIG, CARD, CURVES, TOKENIZER)}
    weights = {f"snapshots/{config.steps:08d}.safetensors": b"\x02\0\0\0\0\0\0\0{}"}
    files = {**kept, **weights, CONFIG: json.dumps(to_json(config)).encode()}
    card = json.loads(files[CARD]) | {"key": key(config), "step": config.steps}
    return zip_files({**files, CARD: json.dumps(card).encode()})


# ---- imports ----


@dataclass
class Outcome:
    """What importing many archives did."""

    counts: Counter[str] = field(default_factory=Counter)  # refused, imported, errors, stuck
    reasons: Counter[str] = field(default_factory=Counter)  # the beginnings of the refusals
    problems: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")  # seconds, and of which archive
    largest: tuple[float, str] = (0.0, "")  # MB above the memory before it
    kept: list[tuple[float, str]] = field(default_factory=list)  # MB that were not given back, and by which archive
    before: float = 0.0  # MB of the process, without what the allocator holds for later
    after: float = 0.0
    resident: float = 0.0  # MB afterwards, with what the allocator holds


class _Stuck(BaseException):
    """An import takes longer than `MOST_SECONDS`. Not an Exception, so that no handler of the program takes it."""


def import_archives(numbers: range, seed: int, mutation: str = "") -> Outcome:
    """Import hostile archives in this process, which needs a LINEAGE_HOME of its own.

    `mutation`: only archives of this kind; empty: all.
    """
    outcome = Outcome()
    home = Path(os.environ["LINEAGE_HOME"])
    for name in BASES:  # loads what any import needs
        import_one("valid", leave_unchanged(dict(valid_files(name)), random.Random(name)), Outcome())
    _remove_runs()
    outcome.before = _kept_megabytes()
    for number in numbers:
        name, content = make_archive(number, seed)
        if mutation in name:
            import_one(f"{number}: {name}", content, outcome)
            _remove_runs()
            if left := [each.name for each in home.glob(".importing-*")]:
                outcome.problems.append(f"{number}: {name}: left {left}")
    outcome.resident = resident_megabytes()
    outcome.after = _kept_megabytes()
    return outcome


def import_one(name: str, content: bytes, outcome: Outcome) -> None:
    """Import one archive and note what happened. An imported run is opened as pages open it."""
    before = resident_megabytes()
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # resets the peak
    start = time.perf_counter()
    signal.signal(signal.SIGALRM, _raise_stuck)
    signal.alarm(MOST_SECONDS)
    try:
        run = import_zip(content, "somebody", limits.check)
        run.record()
        pack(run)
        outcome.counts["imported"] += 1
    except LineageError as error:
        outcome.counts["refused"] += 1
        outcome.reasons[str(error).partition(": ")[2][:60]] += 1
    except _Stuck:
        outcome.counts["stuck"] += 1
        outcome.problems.append(f"{name}: longer than {MOST_SECONDS} s")
    except Exception as error:  # what this looks for
        outcome.counts["errors"] += 1
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        outcome.problems.append(f"{name}: {type(error).__name__} at {place}: {str(error)[:160]}")
    finally:
        signal.alarm(0)
    outcome.slowest = max(outcome.slowest, (time.perf_counter() - start, name))
    outcome.largest = max(outcome.largest, (_peak_megabytes() - before, name))
    outcome.kept = sorted([*outcome.kept, (resident_megabytes() - before, name)])[-6:]


def _raise_stuck(*_: object) -> None:
    raise _Stuck


def _remove_runs() -> None:
    for folder in environment().runs.glob("[a-z2-7]*"):
        operations.delete_runs([folder.name], "somebody", True)
    operations.empty_trash()


def _kept_megabytes() -> float:
    """Return the resident memory in MB after the allocator (glibc) has given back what nothing uses any more."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return resident_megabytes()


def resident_megabytes() -> float:
    """Return the resident memory of this process in MB."""
    return int(Path("/proc/self/statm").read_text("utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _peak_megabytes() -> float:
    line = next(line for line in Path("/proc/self/status").read_text("utf-8").splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1e3


def run_in_own_home(numbers: range, seed: int, mutation: str = "") -> Outcome:
    """Import hostile archives with a home of their own and a limit of memory; call it in a process of its own."""
    return _with_own_home(lambda: import_archives(numbers, seed, mutation))


def _with_own_home(work: Callable[[], Outcome]) -> Outcome:
    import resource

    with tempfile.TemporaryDirectory(prefix="lineage-archives-") as home:
        os.environ["LINEAGE_HOME"] = home
        used = int(resident_megabytes() * 1e6)
        resource.setrlimit(resource.RLIMIT_DATA, (used + MOST_MEMORY, resource.RLIM_INFINITY))
        return work()


def import_row_3_in_own_home(replicas: int) -> Outcome:
    """Import the archive of row 3 with a home of its own and a limit of memory; call it in a process of its own."""
    return _with_own_home(lambda: _import_row_3(replicas))


def _import_row_3(replicas: int) -> Outcome:
    outcome = Outcome()
    name = "text-lstm"  # loads what the import needs
    import_one("valid", leave_unchanged(dict(valid_files(name)), random.Random(name)), Outcome())
    import_one(f"{replicas} seeds", archive_of_row_3(replicas), outcome)
    return outcome
