"""The files of the program are found in a checkout; tests/test_package.py finds them in an installed package."""

from __future__ import annotations

from pathlib import Path

from explorer import program_files

ROOT = Path(__file__).parents[1]


def test_the_files_of_a_checkout_are_those_of_the_repository() -> None:
    assert program_files.APP_FOLDER == ROOT
    assert program_files.APP.is_file()
    for folder in (program_files.LESSONS, program_files.PRETRAINED, program_files.STATIC_FILES):
        assert folder.is_dir()
