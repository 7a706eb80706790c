"""What is looked at before a program is started: blocked patterns, rates, options, groups."""

import asyncio
from functools import wraps

import pytest
from codemode_reference import Operation, Options, Parent, PolicyError, Surface, default_policy
from codemode_reference.errors import Failure
from codemode_reference.filters import Filters
from codemode_reference.rate import Rates
from codemode_spec.tables import load_tables

ADMISSION = load_tables().admission
FILTERS = Filters(ADMISSION)
PROFILE = "worker-rpc"


@pytest.mark.parametrize(
    ("source", "pattern"),
    [
        ("eval('1')", "eval"),
        ("\\u{65}val('1')", "eval"),
        ("`${eval('1')}`", "eval"),
        ("({ eval })", "eval"),
        ("a.constructor?.('x')", "constructor"),
        ("({ __proto__: null })", "__proto__"),
        ("x?.__proto__", "__proto__"),
        ("new Proxy({}, {})", "Proxy"),
        ("fs.x", "fs"),
        ("x.eval", None),
        ("({ eval: 1 })", None),
        ("'eval' // eval", None),
        ("/eval/.test(a)", None),
        ("class A { constructor() {} }", None),
        ("a.constructor.name", None),
        ("a['con' + 'structor']", None),
        ("const fs = 1; fs", None),
    ],
)
def test_patterns_are_looked_for_in_code_alone(source, pattern):
    """CM-ADM-008, CM-ADM-009: whatever way a name is written, and never in data."""
    assert FILTERS.in_program(source) == pattern


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        ({"q": "a IN (SELECT 1)"}, "(SELECT"),
        ({"q": "a in ( select 1)"}, "(SELECT"),
        ([[{"(SELECT": 1}]], "(SELECT"),
        ({"q": "SELECT (1)"}, None),
        (5, None),
    ],
)
def test_texts_of_arguments_are_looked_through(arguments, pattern):
    """CM-ADM-011: keys included, however deep."""
    assert FILTERS.in_arguments(arguments) == pattern


def test_a_start_counts_for_exactly_one_window():
    """CM-ADM-003: at 59.9 s it does, at 60 s and 60.1 s it does not."""
    rates = Rates(ADMISSION)
    rates.record("a", 1_000.0)
    refused = rates.refusal("a", 1, 60_900.0)
    assert isinstance(refused, Failure)
    assert refused.fields == {"limit": 1, "retry_after_ms": 100}
    assert rates.refusal("a", 1, 61_000.0) is None
    assert rates.refusal("a", 1, 61_100.0) is None


def test_looking_records_nothing_and_clients_are_apart():
    """CM-ADM-004, CM-ADM-005."""
    rates = Rates(ADMISSION)
    for _ in range(5):
        assert rates.refusal("a", 1, 0.0) is None
    rates.record("a", 0.0)
    assert rates.refusal("a", 1, 0.0) is not None
    assert rates.refusal("b", 1, 0.0) is None


def test_of_too_many_clients_the_one_idle_longest_is_forgotten():
    """CM-ADM-007: and memory stays bounded by the starts that count."""
    rates = Rates(ADMISSION)
    for client in range(ADMISSION.clients):
        rates.record(client, float(client))
    rates.record(0, 10_000.0)
    rates.record("new", 10_001.0)
    assert len(rates) == ADMISSION.clients
    assert rates.refusal(0, 1, 10_001.0) is not None
    assert rates.refusal(1, 1, 10_001.0) is None
    assert rates.refusal(2, 1, 10_001.0) is not None


@pytest.mark.parametrize("timeout", [0, -1, 0.5, "5", True, 30_001])
def test_an_option_is_never_clamped(timeout):
    """CM-TIM-016."""
    policy = default_policy(PROFILE)
    applied = Options(timeout_ms=timeout).applied(policy, ("timeout",))
    assert isinstance(applied, Failure)
    assert applied.code == "invalid_arguments"


def test_an_option_that_the_profile_has_not_is_refused():
    """Nothing that a caller asks for is ignored."""
    applied = Options(readonly=True).applied(default_policy(), ())
    assert isinstance(applied, Failure)
    assert applied.code == "invalid_arguments"


def on_a_loop(test):
    """The test as a function that runs it to its end."""

    @wraps(test)
    def run(*args, **more):
        asyncio.run(test(*args, **more))

    return run


async def _echo(arguments):
    return arguments


def operation(name, **more):
    """An operation that answers with its arguments."""
    return Operation(name, _echo, **more)


def test_methods_stand_in_groups_without_their_prefixes():
    """CM-API-017: that of all tools, and that of the group where it is not kept."""
    found = Surface("store", frozenset({"json"})).methods(
        [
            operation("store_notes_add_all", group="notes"),
            operation("store_json_get", group="json"),
            operation("store_ping"),
            operation("other", group="notes"),
        ]
    )
    assert found == {
        "store_notes_add_all": "addAll",
        "store_json_get": "jsonGet",
        "store_ping": "ping",
        "other": "other",
    }


@pytest.mark.parametrize(
    "operations",
    [
        [operation("a", group="g", aliases=("b",)), operation("b", group="g")],
        [operation("a", group="g", shortcuts=("help",))],
        [operation("a", group="g", shortcuts=("g",))],
        [operation("a", group="g", shortcuts=("x",)), operation("x")],
        [operation("a", group="g", shortcuts=("reportProgress",))],
    ],
)
def test_no_name_of_a_group_hides_another(operations):
    """CM-API-003: a clash is an invalid catalogue, not a surprise for a program."""
    with pytest.raises(PolicyError, match="operations"):
        Parent(None, operations, profile=PROFILE)


@on_a_loop
async def test_no_worker_is_started_for_a_refused_program():
    """CM-ADM-013, CM-ADM-005: and it does not count."""
    policy = {**default_policy(PROFILE), "executions_per_minute": 1}
    parent = Parent(policy, [], profile=PROFILE)
    try:
        assert (await parent.invoke("eval('1')")).code == "pattern_blocked"
        assert parent.last_stats is None
        assert (await parent.invoke("1")).value == 1
        assert (await parent.invoke("eval('1')")).code == "pattern_blocked"
        assert (await parent.invoke("1")).code == "rate_limited"
        assert (await parent.invoke("1", options=Options(client="other"))).value == 1
    finally:
        await parent.close()


@on_a_loop
async def test_what_a_worker_used_is_told():
    """CM-MCP-006: true numbers, of this worker and not of its parent."""
    parent = Parent(None, [], profile=PROFILE)
    found = []
    ballast = bytearray(200 << 20)
    try:
        await parent.invoke("let n = 0; while (n < 3e6) n++; n", stats=found.append)
    finally:
        await parent.close()
    (stats,) = found
    assert ballast is not None
    assert stats.wall_ms > 0
    assert stats.cpu_ms > 0
    assert 1 << 20 < stats.memory_bytes < 180 << 20


@pytest.mark.parametrize("readonly", [True, False])
@on_a_loop
async def test_the_parent_refuses_a_write_again(readonly):
    """CM-RDO-008: a frame that names it is answered, whatever the worker thinks."""
    parent = Parent(None, [operation("save", effect="unstated")], profile=PROFILE)
    catalogue = parent.catalogue.restricted(None, readonly=readonly)
    await parent.close()
    assert catalogue.forbids("save") is readonly
