"""Each public report is a case of the suite, an entry of the data beside this, or a test."""

from pathlib import Path

from codemode_spec import load
from codemode_spec.documents import parse_yaml

HERE = Path(__file__).parent


def read(name):
    """A file of `reported/`."""
    path = HERE / "reported" / name
    return parse_yaml(path.read_text(encoding="utf-8"), path.name)


def test_every_report_is_covered():
    """No id is forgotten, none is invented, and every test that is named is there."""
    index = read("index.yaml")
    cases = {one for case in load().cases.values() for one in case.reported}
    data = {
        one
        for name in ("programs.yaml", "workers.yaml")
        for entry in read(name)
        for one in entry["reported"]
    }
    assert cases | data | index["tests"].keys() == set(index["ids"])
    for names in index["tests"].values():
        for name in names:
            file, _, test = name.partition("::")
            assert f"def {test}(" in (HERE / file).read_text(encoding="utf-8"), name
