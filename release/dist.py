"""Build the sdist and the wheel, check what is in them, and try both on each Python that is there (`make dist`).

Each trial installs into an empty environment and runs `smoke.py` in an empty folder, far from the source. It needs uv,
and packages from PyPI. With `--built`, what is in dist/ is tried and nothing is built.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
DIST: Final = ROOT / "dist"
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
# The file, its extras, and the versions of dependencies. Old versions are taken where they have a wheel.
TRIALS: Final = (
    ("whl", "", "highest"),
    ("whl", "", "lowest-direct"),
    ("tar.gz", "[all]", "highest"),
)
SHOWN: Final = ("numpy", "pandas", "pyarrow", "scikit-learn", "scipy", "typer")
LARGEST: Final = 100_000  # bytes of one file in the package
NEEDED: Final = ("pydaub/py.typed", "pydaub/dashboard/static/page.html", "pydaub/recorded/parity.csv")


def build() -> None:
    """Build the sdist, and the wheel from it, with the build tools of this environment."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(DIST), str(ROOT))


def check_contents() -> None:
    """Refuse an sdist or a wheel that lacks something, or that has something odd in it."""
    with tarfile.open(found("tar.gz")) as archive:
        source = {entry.name.partition("/")[2]: entry.size for entry in archive if entry.isfile()}
    with zipfile.ZipFile(found("whl")) as archive:
        wheel = {entry.filename: entry.file_size for entry in archive.infolist()}
    here = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src/pydaub").rglob("*") if path.is_file()}
    here = {name for name in here if "__pycache__" not in name}
    problems = [f"{name} is missing in the wheel" for name in {*NEEDED, *here} - {*wheel}]
    problems += [f"{name} is missing in the sdist" for name in ("LICENSE", "README.md") if name not in source]
    problems += [f"src/{name} is missing in the sdist" for name in here if f"src/{name}" not in source]
    if not any(re.fullmatch(r".*\.dist-info/licenses/LICENSE", name) for name in wheel):
        problems.append("LICENSE is missing in the wheel")
    for place, names in (("sdist", source), ("wheel", wheel)):
        odd = [name for name in names if re.search(r"(^|/)(tests?|build|dist|\.venv|__pycache__)/|\.(pyc|so)$", name)]
        problems += [f"{name} does not belong in the {place}" for name in odd]
        problems += [f"{name} in the {place} has {size:,} bytes" for name, size in names.items() if size > LARGEST]
    if problems:
        sys.exit("\n".join(problems))
    print(f"sdist: {len(source)} files, wheel: {len(wheel)} files; nothing is missing, nothing is odd.")


def found(ending: str) -> Path:
    """Return the one file in dist/ with this ending."""
    (path,) = DIST.glob(f"pydaub-*.{ending}")
    return path


def interpreter(version: str) -> str | None:
    """Return a Python of this version: from the PATH, or one that pyenv has installed."""
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for path in [shutil.which(f"python{version}"), *map(str, pyenv)]:
        if path is None:
            continue
        code = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603  # a Python
        if done.stdout.strip() == version:
            return path
    return None


def attempt(python: str, ending: str, extras: str, resolution: str) -> str:
    """Install into an empty environment and run the smoke test; return the versions of some dependencies."""
    with tempfile.TemporaryDirectory(prefix="pydaub-dist-") as place:
        environment, empty = Path(place) / "environment", Path(place) / "empty"
        empty.mkdir()
        inside = str(environment / "bin" / "python")
        run("uv", "venv", "-q", "--no-project", "--python", python, str(environment), cwd=empty)
        install = ["uv", "pip", "install", "-q", "--python", inside, "--resolution", resolution]
        if ending == "whl":
            install.append("--no-build")  # but pydaub itself is built from the sdist
        if resolution != "highest":
            install += ["-r", str(ROOT / "pyproject.toml")]  # whose own dependencies are then the lowest
        run(*install, f"pydaub{extras} @ {found(ending).as_uri()}", cwd=empty)
        version = re.findall(r"pydaub-([^-]+?)(?:-py3|\.tar)", found(ending).name)[0]
        run(inside, "-I", str(ROOT / "release/smoke.py"), version, cwd=empty)
        frozen = run("uv", "pip", "freeze", "-q", "--python", inside, cwd=empty)
        return ", ".join(line for line in frozen.splitlines() if line.partition("==")[0] in SHOWN)


def run(*command: str, cwd: Path = ROOT) -> str:
    """Run a command and return its output; leave with its output if it fails."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # noqa: S603  # our own
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}")
    return done.stdout


def main() -> None:
    """Build, check and try."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--built", action="store_true", help="try what is in dist/ already")
    if shutil.which("uv") is None:
        sys.exit("`make dist` needs uv, which installs into the environments: pip install uv")
    if not parser.parse_args().built:
        build()
    check_contents()
    tried = 0
    for version in PYTHONS:
        python = interpreter(version)
        if python is None:
            print(f"Python {version}: NOT AVAILABLE here, so nothing was tried on it", flush=True)
            continue
        for ending, extras, resolution in TRIALS:
            print(f"Python {version}, {ending}{extras}, {resolution}: ", end="", flush=True)
            print(f"ok with {attempt(python, ending, extras, resolution)}", flush=True)
            tried += 1
    if not tried:
        sys.exit("No Python was found to try them on.")
    print(f"{tried} trials passed: {found('whl').name}, {found('tar.gz').name}")


if __name__ == "__main__":
    main()
