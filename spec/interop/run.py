"""Put the exported specification to the Node programs of this folder: `python run.py FOLDER`.

FOLDER is a place for the export and for npm's packages; needs Node 20 and npm.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from codemode_spec.export import export

HERE = Path(__file__).parent
OLDEST = 20
# Every kind of vector with something that no implementation may agree with.
PLANTS = {
    "sizes": ("size", 987_654_321),
    "policy": ("field", "planted"),
    "frames": ("event", "planted"),
    "values": ("size", 987_654_321),
    "traces": ("steps", [{"event": "time_up", "actions": [], "state": "planted"}]),
}


def main(folder: Path) -> int:
    """Export, install, run; 0 if the programs agree and find what is planted, 3 without Node."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        missing = "node" if node is None else "npm"
        return _say(f"there is no {missing} on PATH; install Node {OLDEST} or later with npm", 3)
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    major = re.match(r"v(\d+)", version)
    if major is None or int(major[1]) < OLDEST:
        return _say(f"node is {version.strip()}; Node {OLDEST} or later is needed", 3)
    programs, exported = folder / "programs", folder / "export"
    for place in (programs, exported):
        shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(HERE, programs, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    install = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    if subprocess.run(install, cwd=programs, check=False, stdout=subprocess.DEVNULL).returncode:
        return _say("npm could not install what package-lock.json names", 3)
    export(exported)
    for program in ("vectors.mjs", "schemas.mjs"):
        code = subprocess.run([node, programs / program, exported], check=False).returncode
        if code:
            return _say(f"{program} does not agree with the specification", code)
    return _plant(node, programs / "vectors.mjs", exported)


def _plant(node: str, program: Path, exported: Path) -> int:
    """Each kind of vector is really looked at: a wrong answer in it is found."""
    for name, (key, wrong) in PLANTS.items():
        path = exported / "vectors" / f"{name}.json"
        text = path.read_text(encoding="utf-8")
        document = json.loads(text)
        vector = next(vector for vector in document["vectors"] if key in vector)
        vector[key] = wrong
        path.write_text(json.dumps(document), encoding="utf-8")
        result = subprocess.run(
            [node, program, exported], check=False, capture_output=True, text=True
        )
        path.write_text(text, encoding="utf-8")
        if result.returncode != 1 or f"{name}: {vector['id']}: " not in result.stdout:
            return _say(f"a wrong answer in {vector['id']} of {name} was not found", 1)
    return _say(f"planted faults found in {', '.join(PLANTS)}", 0)


def _say(line: str, code: int) -> int:
    sys.stdout.write(f"interop: {line}\n")
    return code


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python run.py FOLDER")
    sys.exit(main(Path(sys.argv[1])))
