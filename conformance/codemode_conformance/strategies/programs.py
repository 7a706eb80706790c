"""Programs in steps: sequences, groups, handlers, loops, calls and returns of every kind."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hypothesis import strategies as st

from codemode_conformance.strategies.behaviours import CATALOGUE, UNKNOWN
from codemode_conformance.strategies.values import json_values, scalars

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import DrawFn, SearchStrategy

    from codemode_conformance.properties.dialect import Dialect

    Step = dict[str, Any]
    Steps = list[Step]

COUNTERS: Final = ("n0", "n1")
RESULTS: Final = ("r0", "r1")
LIST: Final = "l0"
"""The names of a program: each is used for one kind of value only."""

_DEEPEST: Final = 3
_NEAR: Final = (-1, 0, 1)
_ODD: Final = (
    *("undefined", "NaN", "Infinity", "bigint", "symbol", "function", "Map", "Set", "Date"),
    *("internal", "hole", "lone_surrogate", "symbol_key", "cycle"),
)


def programs(dialect: Dialect, policy: Mapping[str, int]) -> SearchStrategy[Steps]:
    """Whole programs whose limits are those of the dialect with this policy.

    They end by themselves: no loop without an end, no call that is never answered.
    """
    limits = {**dialect.rows, **policy}
    return _grammar(
        _Abilities(
            contract=dialect.contract,
            json=dialect.has("values", "json"),
            at_once=dialect.style == "async",
            stalls=dialect.style == "async" and dialect.has("stall", "at_once"),
            depth=limits.get("value_depth"),
            final=limits.get("final_result_bytes"),
            branches=min(limits.get("concurrent_host_calls", 4) + 2, _MOST_BRANCHES),
        )
    ).program()


class _Abilities(NamedTuple):
    """What decides which programs there are; `depth` and `final` are limits that have an edge."""

    contract: bool
    json: bool
    at_once: bool
    stalls: bool
    depth: int | None
    final: int | None
    branches: int


class _Where(NamedTuple):
    """How deep a block is, and the error that it handles, if it does."""

    depth: int = 0
    error: str | None = None

    def inner(self, error: str | None = None) -> _Where:
        return _Where(self.depth + 1, error or self.error)


@cache
def _grammar(abilities: _Abilities) -> _Grammar:
    return _Grammar(abilities)


class _Grammar:
    """The leaves are strategies; blocks are drawn step by step, since they hold each other."""

    def __init__(self, abilities: _Abilities) -> None:
        self.can = abilities
        self.steps: dict[_Where, SearchStrategy[Step]] = {}
        self.odd = self._odd()
        self.arguments = self._arguments()
        self.returns = self._returns()
        self.ends = self._ends()
        # Whether a name outside of the catalogue costs a call is promised by the contract alone.
        free = [name for name, _, schema in CATALOGUE if not schema]
        guarded = [name for name, _, schema in CATALOGUE if schema]
        others = [*guarded, UNKNOWN] if abilities.contract else []
        self.names = st.sampled_from([*free * 3, *others])

    def program(self) -> SearchStrategy[Steps]:
        return _program(self)

    def block(self, draw: DrawFn, where: _Where, *, most: int = 3, least: int = 0) -> Steps:
        if where not in self.steps:
            self.steps[where] = _step(self, where)
        return draw(st.lists(self.steps[where], min_size=least, max_size=most))

    def step(self, draw: DrawFn, where: _Where) -> Step:
        # The simplest first: an example shrinks towards it.
        kinds = ["tried", "tried", "tried", "call", "change"]
        if where.error is not None:
            kinds.append("throw")
        if where.depth < _DEEPEST:
            kinds += ["try", "try", "repeat", "each", "if"]
            kinds += ["send", "all", "all", "many"] if self.can.at_once else []
        match draw(st.sampled_from(kinds)):
            case "call":
                return self.call(draw)
            case "tried":
                return self.tried(draw, where)
            case "change":
                return self.change(draw, where)
            case "throw":
                return {"throw": where.error}
            case "send":
                return {"send": draw(st.sampled_from(("get", "put"))), **draw(self.arguments)}
            case kind:
                return self.structure(draw, where, kind)

    def call(self, draw: DrawFn) -> Step:
        step = {"call": draw(self.names), **draw(self.arguments)}
        result = draw(st.sampled_from((None, *RESULTS)))
        return step if result is None else {**step, "as": result}

    def tried(self, draw: DrawFn, where: _Where) -> Step:
        """A call whose end is told, however it ends."""
        error = f"e{where.depth}"
        told = {"$": f"{error}.code"} if self.can.contract else "refused"
        done = {"add": draw(st.sampled_from(COUNTERS)), "by": 1}
        return {
            "try": [self.call(draw), done],
            "catch": [{"push": LIST, "value": told}],
            "as": error,
        }

    def change(self, draw: DrawFn, where: _Where) -> Step:
        match draw(st.sampled_from(("add", "push", "set"))):
            case "add":
                return {"add": draw(st.sampled_from(COUNTERS)), "by": draw(st.integers(1, 3))}
            case "set":
                return {"set": draw(st.sampled_from(RESULTS)), "to": draw(scalars())}
        pushed = [{"$": name} for name in (*COUNTERS, *RESULTS)]
        if where.error is not None and self.can.contract:
            pushed += [{"$": f"{where.error}.{key}"} for key in ("code", "operation")]
            pushed.append({"$fields": where.error})
        return {"push": LIST, "value": draw(st.one_of(st.sampled_from(pushed), scalars()))}

    def structure(self, draw: DrawFn, where: _Where, kind: str) -> Step:
        inner = where.inner()
        match kind:
            case "try":
                error = f"e{where.depth}"
                return {
                    "try": self.block(draw, inner, least=1),
                    "catch": self.block(draw, where.inner(error)),
                    "as": error,
                }
            case "repeat":
                times = draw(st.integers(0, 4))
                steps = self.block(draw, inner, most=2, least=1)
                return {"repeat": times, "do": steps, "as": f"k{where.depth}"}
            case "each":
                values = draw(st.lists(scalars(), max_size=3))
                steps = self.block(draw, inner, most=2, least=1)
                return {"each": values, "as": f"k{where.depth}", "do": steps}
            case "if":
                form = draw(st.sampled_from(("$more", "$equal")))
                tested = [{"$": draw(st.sampled_from(COUNTERS))}, draw(st.integers(0, 3))]
                steps = self.block(draw, inner, most=2)
                return {"if": {form: tested}, "do": steps, "else": self.block(draw, inner, most=2)}
            case "many":
                times = draw(st.integers(0, self.can.branches))
                return {"all": {"times": times, "do": self.block(draw, inner, most=2, least=1)}}
        many = draw(st.integers(0, 4))
        return {"all": [self.block(draw, inner, most=2) for _ in range(many)]}

    def _arguments(self) -> SearchStrategy[Step]:
        counted = [{"arguments": {"n": {"$": name}}} for name in COUNTERS]
        few: list[Step] = [{}, {"arguments": {"n": 1}}, *counted]
        values = [json_values(4), *([self.odd] if self.can.json else [])]
        others = [value.map(lambda value: {"arguments": value}) for value in values]
        # By a number, since one_of gives each branch within its branches the same weight.
        return st.integers(0, 9).flatmap(
            lambda lot: others[lot - 8] if 0 <= lot - 8 < len(others) else st.sampled_from(few)
        )

    def _odd(self) -> SearchStrategy[Any]:
        """What JSON loses, or what nests as deep as may be, or a level more."""
        kinds = st.sampled_from(_ODD).map(lambda kind: {"$odd": kind})
        found = [kinds, kinds.map(lambda value: {"v": value}), kinds.map(lambda value: [value])]
        found.append(json_values(2).map(lambda value: {"$to_json": value}))
        if self.can.depth is not None:
            depths = [self.can.depth + by for by in _NEAR]
            nested = [{"$nest": [kind, depth]} for kind in ("array", "object") for depth in depths]
            found.append(st.sampled_from(nested))
        return st.one_of(found)

    def _returns(self) -> SearchStrategy[Step]:
        names = st.sampled_from((*COUNTERS, *RESULTS, LIST)).map(lambda name: {"$": name})
        found: list[SearchStrategy[Any]] = [
            names,
            st.lists(names, min_size=1, max_size=4),
            json_values(4),
            st.dictionaries(st.sampled_from(("a", "b", "__proto__")), names, max_size=2),
        ]
        if self.can.final is not None:
            sized = [{"$repeat": ["x", self.can.final - 2 + by]} for by in _NEAR]
            found.append(st.sampled_from(sized))
        if self.can.json:
            found.append(self.odd)
        return st.one_of(found).map(lambda value: {"return": value})

    def _ends(self) -> SearchStrategy[Steps]:
        others: list[list[Step]] = [[], [{"throw": None}]]
        others += [[{"act": "stack"}], [{"act": "syntax"}]] if self.can.contract else []
        others += [[{"act": "stall"}]] if self.can.stalls else []
        returns = self.returns.map(lambda step: [step])
        return st.one_of(returns, returns, returns, st.sampled_from(others))


@st.composite
def _program(draw: DrawFn, grammar: _Grammar) -> Steps:
    return [*grammar.block(draw, _Where(), most=6, least=1), *draw(grammar.ends)]


@st.composite
def _step(draw: DrawFn, grammar: _Grammar, where: _Where) -> Step:
    return grammar.step(draw, where)


_MOST_BRANCHES: Final = 7
