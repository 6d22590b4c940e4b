"""Loaded real models: one copy of each for all visitors. If their weights exceed the limit, the least recently used one
is dropped.

A computation that still uses a dropped model keeps it until it ends.
"""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import TypeAlias

from cachetools import LRUCache

from explorer.environment import environment
from explorer.errors import InvalidSetting
from explorer.hub import loading, pretrained

Key: TypeAlias = tuple[str, str]  # folder and fingerprint
MOST_MODELS = 8  # also if they are tiny
_loaded: LRUCache[Key, tuple[pretrained.PretrainedModule, int]] = LRUCache(math.inf, lambda value: value[1])  # by bytes
_refused: LRUCache[Key, InvalidSetting] = LRUCache(32)  # why a folder could not be loaded, until it changes
_checkpoints: set[Key] = set()  # those of the loaded models that leave when the next checkpoint of a training is loaded
_lock = threading.Lock()  # of all, never held while a model is loaded
_loading = threading.Lock()  # one model at a time, so that the limit holds while it is loaded


def load_folder(folder: Path, fingerprint: str, size: int, is_checkpoint: bool = False) -> pretrained.PretrainedModule:
    """Return the model in a folder; it is loaded once, also if many threads ask at the same time. It takes seconds.

    fingerprint: changes with the files of the folder
    size: bytes of the weights in 32 bits
    is_checkpoint: whether it is dropped when the next checkpoint is loaded, so that a visitor who goes through a
        training does not drop the models of the others

    Raises InvalidSetting if it cannot be loaded.
    """
    key = str(folder), fingerprint
    if module := _find_loaded(key):
        return module
    with _loading:
        if module := _find_loaded(key):  # by the thread that had the lock before
            return module
        if is_checkpoint:
            with _lock:
                for each in _checkpoints:
                    _loaded.pop(each, None)
                _checkpoints.clear()
        with _lock:
            while _loaded and (_loaded.currsize + size > environment().models_memory or len(_loaded) >= MOST_MODELS):
                _loaded.popitem()  # the least recently used one
        try:
            module = loading.load(folder)
        except InvalidSetting as error:
            with _lock:
                _refused[key] = error
            raise
        with _lock:
            _loaded[key] = module, size
            if is_checkpoint:
                _checkpoints.add(key)
    return module


def loaded_bytes() -> int:
    """Return the bytes of all loaded weights."""
    with _lock:
        return int(_loaded.currsize)


def drop(folder: str) -> None:
    """Forget the models of a folder, and why it could not be loaded."""
    with _lock:
        for each in (_loaded, _refused):
            for key in [key for key in each if key[0] == folder]:
                del each[key]


def reset() -> None:
    """Forget every model."""
    with _lock:
        _loaded.clear()
        _checkpoints.clear()
        _refused.clear()


def _find_loaded(key: Key) -> pretrained.PretrainedModule | None:
    with _lock:
        if key in _loaded:
            return _loaded[key][0]
        if key in _refused:
            raise _refused[key].with_traceback(None)
    return None
