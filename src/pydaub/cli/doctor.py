"""`pydaub doctor`: what is installed and what is missing, what the machine has, and a trial of the isolation."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, Final

import typer

from pydaub import __version__
from pydaub.cli.app import EXIT_FAILED, app
from pydaub.cli.options import Json
from pydaub.errors import InputError
from pydaub.isolation import proc
from pydaub.views.terminal import console, print_lines, print_table

# What each extra is for. Those for developers are left out.
USES: Final = {
    "boost": "LightGBM, XGBoost and CatBoost among the learners",
    "dashboard": "the live page: `run --dashboard`, `watch`",
    "mlflow": "runs in MLflow",
    "plot": "figures: `plot`",
    "ray": "clusters: `--engine ray`",
    "realmlp": "RealMLP among the strong learners",
    "rules": "the rule learners of imodels",
    "spaces": "learners whose parameters are searched: `--learners spaces`",
    "weka": "the paper's 41 classifiers: `--learners weka`",
}
# As in learners/weka/jar.py, which would import scikit-learn.
JAR_VARIABLE: Final = "PYDAUB_WEKA_JAR"
DEBIANS_JAR: Final = "/usr/share/java/weka.jar"
GB: Final = 10**9


@app.command()
def doctor(*, as_json: Json = False) -> None:
    """Say what is installed, what is missing for what, and whether learners can be isolated on this machine.

    Include the output if you report a bug. The exit code is 1 if the isolation does not work, or if a package that
    pydaub needs is missing or too old.
    """
    found = _examined()
    if as_json:
        typer.echo(json.dumps(found))
    else:
        _show(found)
    if not found["ok"]:
        raise typer.Exit(EXIT_FAILED)


def _examined() -> dict[str, Any]:
    from pydaub.isolation.trial import tried

    needed, extras = _packages()
    isolation = [asdict(each) for each in tried()]
    memory = proc.available_memory()
    return {
        "pydaub": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "cores": proc.cores(),
        "core_limit": _core_limit(),
        "memory": memory,
        "folder": str(Path.cwd()),
        "disk": shutil.disk_usage(Path.cwd()).free,
        "gpus": proc.gpus(),
        "java": shutil.which("java"),
        "weka_jar": _weka_jar(),
        "packages": needed,
        "extras": extras,
        "isolation": isolation,
        "ok": all(each["ok"] for each in isolation) and all(each["problem"] is None for each in needed.values()),
    }


def _packages() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the packages that pydaub needs, and for each extra those that it adds, as the installed pydaub says."""
    from packaging.requirements import Requirement

    try:
        wanted = [Requirement(each) for each in requires("pydaub") or ()]
    except PackageNotFoundError:
        raise InputError(f"pydaub must be installed, got only its source in {Path(__file__).parents[1]}.") from None

    def state(each: Requirement) -> dict[str, Any]:
        with suppress(PackageNotFoundError):
            there = version(each.name)
            fits = each.specifier.contains(there, prereleases=True)
            return {"version": there, "problem": None if fits else f"must be {each.specifier}"}
        return {"version": None, "problem": "missing"}

    def needed_with(extra: str) -> dict[str, Any]:
        own = [each for each in wanted if each.marker is not None and "extra" in str(each.marker)]
        return {each.name: state(each) for each in own if each.marker and each.marker.evaluate({"extra": extra})}

    plain = [each for each in wanted if each.marker is None or each.marker.evaluate({"extra": ""})]
    extras = {}
    for extra, use in USES.items():
        packages = needed_with(extra)
        lacks = any(each["problem"] for each in packages.values())
        install = f"pip install 'pydaub[{extra}]'" if lacks else None
        extras[extra] = {"use": use, "packages": packages, "install": install}
    return {each.name: state(each) for each in plain}, extras


def _weka_jar() -> str | None:
    """Return WEKA's jar, if there is one where it is looked for."""
    named = os.environ.get(JAR_VARIABLE) or DEBIANS_JAR
    return named if all(Path(part).is_file() for part in named.split(os.pathsep) if part) else None


def _core_limit() -> float | None:
    """Return how many cores a container may use, if that is limited."""
    with suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return int(quota) / int(period)
    return None


def _show(found: dict[str, Any]) -> None:
    out = console()
    limit = "" if found["core_limit"] is None else f", {found['core_limit']:g} of them at a time in this container"
    memory = "unknown" if found["memory"] is None else f"{found['memory'] / GB:,.1f} GB"
    print_lines(
        out,
        [
            f"pydaub {found['pydaub']}, Python {found['python']} ({found['executable']}), {found['platform']}",
            f"cores: {found['cores']}{limit}; memory available: {memory}; GPUs: {', '.join(found['gpus']) or 'none'}",
            f"Java: {found['java'] or 'none'}; WEKA's jar: {found['weka_jar'] or 'none'}",
            f"disk space in {found['folder']}: {found['disk'] / GB:,.1f} GB",
            "",
        ],
    )
    print_table(out, ("package", "version", "problem"), _rows(found["packages"]))
    rows = []
    for extra, about in found["extras"].items():
        lacking = [name for name, each in about["packages"].items() if each["problem"]]
        there = [f"{name} {each['version']}" for name, each in about["packages"].items() if not each["problem"]]
        state = f"lacks {', '.join(lacking)}" if lacking else ", ".join(there)
        rows.append((extra, about["use"], state))
    print_lines(out, [""])
    print_table(out, ("extra", "for", "installed"), rows)
    installs = [f"`{about['install']}`: {about['use']}" for about in found["extras"].values() if about["install"]]
    print_lines(out, ["", *(["To install what is missing:", *installs, ""] if installs else [])])
    trials = [("ok" if each["ok"] else "FAILED", each["trial"], each["found"]) for each in found["isolation"]]
    print_table(out, ("isolation", "trial", "found"), trials)
    what = "Everything that pydaub needs is here." if found["ok"] else "Something does not work: see above."
    print_lines(out, ["", what])


def _rows(packages: dict[str, Any]) -> list[tuple[str, str | None, str | None]]:
    return [(name, each["version"], each["problem"]) for name, each in packages.items()]
