"""The three profiles: each limit as its source system promises it, and rules between rows."""

from __future__ import annotations

import pytest
from codemode_spec.tables import load_tables

KIB, MIB = 1024, 1024 * 1024
PROFILES = load_tables().profiles

PROMISED = {
    "process-async": {
        "source_bytes": 32 * KIB,
        "ipc_frame_bytes": 72 * KIB,
        "wall_time_ms": 10_000,
        "memory_bytes": 16 * MIB,
        "stack_bytes": 256 * KIB,
        "host_calls": 16,
        "concurrent_host_calls": 4,
        "pages": 8,
        "snapshots": 2,
        "host_result_bytes": 64 * KIB,
        "cumulative_host_result_bytes": 256 * KIB,
        "final_result_bytes": 48 * KIB,
        "log_bytes": 8 * KIB,
        "server_workers": 4,
        "server_invocations": 4,
        "server_host_operations": 8,
        "kill_grace_ms": 250,
        "exit_wait_ms": 250,
        "reap_ms": 2_000,
        "value_depth": 128,
        "start_timeout_ms": 5_000,
    },
    "inline-sync": {
        "source_bytes": 64 * KIB,
        "ipc_frame_bytes": 1_056_768,
        "wall_time_ms": 60_000,
        "memory_bytes": 32 * MIB,
        "host_calls": 200,
        "host_result_bytes": MIB,
        "cumulative_host_result_bytes": 8 * MIB,
        "final_result_bytes": 256 * KIB,
        "history_headroom_bytes": 64 * KIB,
        "batch_history_bytes": 8 * MIB,
        "operation_time_ms": 60_000,
    },
    "worker-rpc": {
        "source_bytes": 51_200,
        "ipc_frame_bytes": 110_592,
        "wall_time_ms": 30_000,
        "memory_bytes": 128 * MIB,
        "cpu_time_ms": 10_000,
        "host_calls": 1_000,
        "concurrent_host_calls": 16,
        "host_result_bytes": 102_400,
        "cumulative_host_result_bytes": 10 * MIB,
        "final_result_bytes": 102_400,
        "executions_per_minute": 60,
        "server_workers": 10,
        "pool_min": 2,
        "pool_idle_ms": 60_000,
        "kill_grace_ms": 1_000,
    },
}
COMMON = {"stack_bytes": MIB, "server_host_operations": 32}
MAXIMA = {
    "process-async": {
        **COMMON,
        "memory_bytes": 64 * MIB,
        "pages": 16,
        "snapshots": 4,
        "server_workers": 16,
        "server_invocations": 16,
    },
    "inline-sync": {**COMMON, "server_workers": 16, "server_invocations": 16},
    "worker-rpc": {**COMMON, "pool_min": 10},
}
FIXED = ("ipc_frame_bytes", "value_depth")
MINIMA = {
    "memory_bytes": MIB,
    "stack_bytes": 64 * KIB,
    "log_bytes": 0,
    "cumulative_host_result_bytes": "host_result_bytes",
}


@pytest.mark.parametrize("name", PROMISED)
def test_every_limit_is_as_promised(name: str) -> None:
    """The defaults are the numbers of the source system's own table."""
    defaults = PROFILES[name].defaults()
    assert {row: defaults[row] for row in PROMISED[name]} == PROMISED[name]


@pytest.mark.parametrize("name", PROFILES)
def test_maxima_and_minima(name: str) -> None:
    """Only the rows that say so go above their default, or have a minimum other than one."""
    for row in PROFILES[name].rows.values():
        assert row.absolute_maximum == MAXIMA[name].get(row.name, row.default), row.name
        minimum = row.default if row.name in FIXED else MINIMA.get(row.name, 1)
        assert (row.minimum, row.fixed) == (minimum, row.name in FIXED), row.name


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_has_these_rows_and_no_others(name: str) -> None:
    """A row that only one source system has stands in its profile alone."""
    own = {
        "process-async": {"pages", "snapshots"},
        "inline-sync": {"history_headroom_bytes", "batch_history_bytes", "operation_time_ms"},
        "worker-rpc": {"cpu_time_ms", "executions_per_minute", "pool_min", "pool_idle_ms"},
    }
    common = PROMISED["process-async"].keys() - own["process-async"]
    assert PROFILES[name].rows.keys() == common | own[name]


@pytest.mark.parametrize("name", PROFILES)
def test_a_frame_holds_the_largest_single_value(name: str) -> None:
    """Its limit is that value and 8 KiB, rounded up to a whole KiB."""
    rows = PROFILES[name].rows
    largest = max(
        rows[row].absolute_maximum
        for row in ("source_bytes", "host_result_bytes", "final_result_bytes")
    )
    assert rows["ipc_frame_bytes"].default == -(-(largest + 8 * KIB) // KIB) * KIB


@pytest.mark.parametrize("name", PROFILES)
def test_a_default_policy_is_consistent(name: str) -> None:
    """Calls at once fit into calls in total, workers into invocations; zero only for logs."""
    defaults = PROFILES[name].defaults()
    assert defaults["concurrent_host_calls"] <= defaults["host_calls"]
    assert defaults["server_workers"] <= defaults["server_invocations"]
    assert [row.name for row in PROFILES[name].rows.values() if row.zero_allowed] == ["log_bytes"]
