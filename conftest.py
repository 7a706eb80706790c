"""What holds for the tests of all packages."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

# How long an example takes, and how long it takes to make one, says something of the machine only.
settings.register_profile(
    "shared machine", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared machine")


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """A test run in the background of a shell has SIGINT ignored, and would hand that down."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
