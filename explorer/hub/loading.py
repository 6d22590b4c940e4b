"""Load a pretrained model from a folder: checked, compared with the eager attention of `transformers`, and frozen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from explorer.errors import InvalidSetting, shorten
from explorer.hub import attention
from explorer.hub.architectures import check, predicts_tokens
from explorer.hub.files import CONFIG, read_json
from explorer.hub.packages import check_installed
from explorer.hub.pretrained import PretrainedModule
from explorer.models.taps import record

_PARITY_TOKENS = 16
_PARITY = 1e-5  # of the largest logit


def require_transformers() -> Any:
    """Return the module `transformers`. Raises InvalidSetting with advice if it is not installed."""
    check_installed()
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


def load(folder: Path) -> PretrainedModule:
    """Return the model in a folder, in 32 bits. It takes seconds; `memory.py` keeps the result.

    Raises InvalidSetting if the package is missing, if the architecture cannot be shown, if weights are missing or
    have another shape, or if the logits differ from those of the eager attention by more than 1e-5 of the largest.
    """
    config = read_json(folder / CONFIG)
    kind, predicts = check(config), predicts_tokens(config)
    transformers = require_transformers()
    attention.register()
    name = {"decoder": "AutoModelForCausalLM", "encoder": "AutoModelForMaskedLM"}.get(kind, "AutoModelForSeq2SeqLM")
    loader = getattr(transformers, name if predicts else "AutoModel")
    try:
        model, found = loader.from_pretrained(
            str(folder),
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            dtype=torch.float32,
            attn_implementation=attention.NAME,
            output_loading_info=True,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, ImportError) as error:
        raise InvalidSetting(f"The model in {shorten(folder.name)} cannot be loaded: {shorten(error, 200)}") from error
    _check_weights(found, model)
    module = PretrainedModule(model, kind, predicts)
    check_against_eager(module)
    return module


def _check_weights(found: dict[str, Any], model: torch.nn.Module) -> None:
    """Raise InvalidSetting if weights are missing, have another shape, or are no finite numbers."""
    missing = sorted(str(name) for name in found.get("missing_keys") or ())
    wrong = sorted(
        str(entry[0]) if isinstance(entry, tuple) else str(entry) for entry in found.get("mismatched_keys") or ()
    )
    if missing or wrong:
        what = "are missing" if missing else "have another shape than its config.json says"
        raise InvalidSetting(
            f"{len(missing or wrong)} weights of this model {what}, for example {shorten((missing or wrong)[0], 80)}. "
            "They would be random, so it is not shown."
        )
    broken = [name for name, weight in model.named_parameters() if not weight.isfinite().all()]
    if broken:
        raise InvalidSetting(
            f"{len(broken)} weights of this model hold values that are no finite numbers, for example "
            f"{shorten(broken[0], 80)}, so its predictions would be undefined. Save or download the model again."
        )


@torch.inference_mode()
def check_against_eager(module: PretrainedModule) -> None:
    """Compare the logits with those of the eager attention of `transformers`. Raises InvalidSetting if they differ."""
    model: Any = module.model
    ids = (torch.arange(_PARITY_TOKENS) * 7 + 11)[None] % module.vocabulary
    target = ids[:, :5] if module.kind == "encoder-decoder" else None

    def run() -> Tensor:
        output: Tensor = module(ids, target)
        return output

    fused = run()
    with record(module):
        explicit = run()
    model.set_attn_implementation("eager")
    expected = run()
    model.set_attn_implementation(attention.NAME)
    largest = float(expected.abs().max())
    for found in (fused, explicit):
        error = float((found - expected).abs().max())
        if not error <= _PARITY * largest:
            raise InvalidSetting(
                "With the attention of Lineage, the outputs of this model differ from those of the transformers "
                f"library by {error / largest:.1e} of the largest. It is not shown: its attention would be wrong."
            )
