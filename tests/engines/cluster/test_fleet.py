"""What Ray's errors mean for a run, without a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from pydaub import ClusterLost, InputError
from pydaub.engines.cluster.fleet import RETRIES, given_up, loss


@pytest.fixture(scope="module")
def exceptions() -> Any:
    """Return Ray's exceptions; not imported before, because Ray reads the environment when it is imported."""
    return pytest.importorskip("ray.exceptions")


def ended(error: Exception) -> tuple[str, str]:
    found = given_up(7, loss(error), RETRIES + 1)
    assert (found.key, found.value) == (7, None)
    return found.status, found.message


def on_node(exceptions: Any, cause: Exception) -> Any:
    """Return the error for an exception in our own code on a node."""
    return exceptions.RayTaskError("evaluate", "its traceback", cause)


def test_an_evaluation_that_was_lost_too_often_says_why_in_plain_words(exceptions: Any) -> None:
    lost = "its rows or its answer were lost with a node; it was tried 4 times"
    expected = {
        exceptions.WorkerCrashedError(): ("crash", "its Ray worker was killed; it was tried 4 times"),
        exceptions.NodeDiedError("n"): ("crash", "its node was lost; it was tried 4 times"),
        exceptions.OutOfMemoryError("m"): (
            "memory",
            "Ray killed it because its node ran out of memory; it was tried 4 times",
        ),
        exceptions.ObjectLostError("00", None, ""): ("crash", lost),
        exceptions.OwnerDiedError("00", None, ""): ("crash", lost),
        on_node(exceptions, exceptions.ObjectLostError("00", None, "")): ("crash", lost),
        exceptions.TaskCancelledError(): ("crash", "it was cancelled on the cluster; it was tried 4 times"),
        exceptions.RaySystemError("no"): (
            "crash",
            "it was lost (RaySystemError: System error: no); it was tried 4 times",
        ),
    }
    assert {error: ended(error) for error in expected} == expected


def test_an_error_that_every_evaluation_would_meet_ends_the_run(exceptions: Any) -> None:
    for error, message in {
        on_node(exceptions, OSError(28, "No space left")): "A node could not evaluate: OSError: .*No space left",
        on_node(
            exceptions, exceptions.RaySystemError("No module named 'x'")
        ): "A node could not evaluate: .*No module named",
        exceptions.RuntimeEnvSetupError("pip"): "Ray could not start an evaluation: RuntimeEnvSetupError",
        exceptions.TaskUnschedulableError("no"): "Ray could not start an evaluation: TaskUnschedulable",
        exceptions.LocalRayletDiedError(): "Ray could not start an evaluation: LocalRayletDied",
    }.items():
        with pytest.raises(ClusterLost, match=rf"^{message}.*\. The measurements are kept: the run can be resumed\.$"):
            loss(error)
    with pytest.raises(InputError, match=r"^Every node must have numpy$"):
        loss(on_node(exceptions, InputError("Every node must have numpy")))
