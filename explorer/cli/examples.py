"""The examples in the help of each command: a command line, and what it does."""

from __future__ import annotations

PROGRAM = {
    "lineage": "Open the app in the browser",
    "lineage train --task negation --model transformer": "Train a Transformer on sentences with “not”",
    "lineage list --task negation": "List the runs of this task",
    'lineage predict negation-single-rnn "human not preserve nature"': "Predict with an included run",
}
EXAMPLES: dict[str, dict[str, str]] = {
    "app": {
        "lineage app": "Open the app in the browser",
        "lineage app --port 8600 --no-browser": "Start the app on another port without opening the browser",
    },
    "list": {
        "lineage list": "List all runs, tasks and models",
        "lineage list --task text --sort -accuracy --limit 5": "List five runs on text",
        "lineage list --own --json": "List the runs of this machine for another program",
        "lineage list --search orthogonal": "List the runs with this word in their title",
    },
    "settings": {
        "lineage settings": "List tasks, models and the settings of every training",
        "lineage settings --task negation --model transformer": "List every setting of this training",
        "lineage settings --preset characters": "List the values of a preset",
    },
    "train": {
        "lineage train --task negation --model rnn --replicas 8": "Train eight seeds together",
        "lineage train --task negation --model rnn --set p_not=0.5 --set hidden=8": "Change settings",
        "lineage train --task text --corpus tinyshakespeare --tokenizer char --model gru --max-seconds 30": (
            "Train a language model for half a minute"
        ),
        "lineage train --task text --corpus mytext.txt --model ngram": "Train on your own text",
        "lineage train --task negation --model rnn --corpus sentences.csv": "Train on your own labelled sentences",
        "lineage train --task pairs --model encoder_decoder --corpus pairs.csv": "Train on your own pairs",
        "lineage train --preset characters --stop-at val_loss=1.8": "Stop at a validation loss",
        "lineage train --resume k3jx5m2abcde": "Continue a run that was stopped with Ctrl-C",
    },
    "sweep": {
        "lineage sweep --task negation --model rnn --set learning_rate=1e-3,3e-3,1e-2,3e-2 --set hidden=8,16": (
            "Try every combination of two settings"
        ),
        "lineage sweep --task negation --model gru --set learning_rate=1e-4:1e-1:log --search random --trials 9": (
            "Try random learning rates"
        ),
        "lineage sweep --task negation --model lstm --set learning_rate=1e-3,1e-2 --set epochs=10 --out rates.csv": (
            "Write the table of a short search"
        ),
    },
    "evaluate": {
        "lineage evaluate negation-single-rnn": "Evaluate an included run again",
        "lineage evaluate k3jx5m2abcde --corpus mytext.txt": "Evaluate a run on your own text",
    },
    "predict": {
        'lineage predict negation-single-rnn "human not preserve nature"': "Predict the class of a sentence",
        'lineage predict dates-additive "3rd of march 1997"': "Translate a date",
        "lineage predict recall-50-gru-chrono abbaabba": "Recall the first symbol",
        'lineage predict gloss-two "the bank is near the boat and the reed"': "Predict a label at every position",
    },
    "generate": {
        'lineage generate text-best --prompt "ROMEO:" --temperature 0.8': "Continue a text",
        "lineage generate text-ngram --tokens 50 --samples 3 --seed 7": "Generate three short texts",
        "lineage generate text-gru --greedy --tokens 50": "Always choose the most likely token",
    },
    "inspect": {
        'lineage inspect text-transformer "the night and the day" --out attention.npz': "Write all intermediate values",
        "lineage inspect reverse-transformer 314159": "Show which source token each output token attends to",
    },
    "pretrain": {
        "lineage pretrain --missing": "Train the included runs that are missing",
        "lineage pretrain negation-single-rnn": "Train one included run again",
    },
    "export": {
        "lineage export negation-single-rnn rnn.zip": "Write a run as one zip",
        "lineage export negation-single-rnn rnn.py": "Write a program with the weights beside it",
        "lineage export negation-single-rnn rnn.ipynb --force": "Overwrite a notebook that exists",
    },
    "import": {"lineage import rnn.zip": "Add the run in a zip to the runs of this machine"},
    "delete": {"lineage delete k3jx5m2abcde": "Delete a run"},
    "reindex": {"lineage reindex": "Rebuild the index after folders were moved by hand"},
    "open": {
        "lineage open": "List the real models that are open, and those that can be downloaded",
        "lineage open gpt2": "Download and open GPT-2",
        "lineage open models/SmolLM2-135M --name smollm2": "Open a folder with a model in safetensors",
        "lineage open pythia-70m --revision step1000 --name pythia-step1000": "Open a checkpoint of a training",
        "lineage open bert-base-uncased --offline": "Open a model that is on this machine already",
    },
    "close": {"lineage close gpt2": "Forget an opened model; its files stay"},
    "lessons": {
        "lineage lessons": "List the lessons",
        "lineage lessons counting": "Measure the answers of one lesson",
        "lineage lessons --measures": "List the measures for your own lessons",
    },
    "where": {"lineage where": "Print the folders and their sizes"},
}
