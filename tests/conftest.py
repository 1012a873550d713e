"""Commands that tests start find hnclip in the source tree; tests do not see which of them ran before."""

import os
import sys
from pathlib import Path

import pytest

SOURCE = str(Path(__file__).parents[1] / "src")

os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))

THREADS = pytest.StashKey[int]()


def pytest_collection_finish(session):
    if "torch" in sys.modules:
        session.config.stash[THREADS] = sys.modules["torch"].get_num_threads()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """A training in a test's own process sets torch's threads, on which the last bits of later tests' sums hang."""
    if THREADS in item.config.stash:
        sys.modules["torch"].set_num_threads(item.config.stash[THREADS])
