"""Test that the script for README's commands finds and runs exactly these."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import ROOT
from tests.readme_commands import read_arguments, read_commands, run_commands

PAGE = """# Title

```sh
git clone somewhere
```

Words.

```sh
python3 -m venv .venv && {first}
```

```python
1 / 0
```

```sh
python3 -m venv .venv && {second}
```

```sh
python3 -m venv .venv && exit 9
```
"""


def test_the_commands_are_the_study_and_the_tests():
    study, suite = read_commands((ROOT / "README.md").read_text())
    assert study.endswith(".venv/bin/python -m experiments.gap_study")
    assert suite.endswith(".venv/bin/python -m pytest")


@pytest.mark.long
def test_the_commands_run_as_they_stand_and_a_failure_ends_the_script(tmp_path: Path):
    readme = tmp_path / "README.md"
    readme.write_text(PAGE.format(first=".venv/bin/python -c 'print(1)' > one", second="pwd > two; exit 3"))
    assert run_commands(tmp_path, [1, 2]) == 3
    assert (tmp_path / "one").read_text() == "1\n"
    assert (tmp_path / "two").read_text() == f"{tmp_path}\n"
    readme.write_text(PAGE.format(first="exit 4", second="touch three"))
    assert run_commands(tmp_path, [1, 2]) == 4
    assert not (tmp_path / "three").exists()


def test_a_readme_without_the_commands_is_refused():
    with pytest.raises(ValueError, match=r"README\.md: must have two shell blocks .* has 1"):
        read_commands("```sh\npython3 -m venv .venv && true\n```\n\n```sh\npytest\n```\n")


def test_both_commands_run_if_none_is_named():
    assert read_arguments(["--busy", "6"]).numbers == [1, 2]
    assert read_arguments(["--here", "2"]).numbers == [2]
    with pytest.raises(SystemExit, match="2"):
        read_arguments(["3"])
