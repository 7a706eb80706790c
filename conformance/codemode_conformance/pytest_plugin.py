"""The pytest plugin: `pytest --cmconf-target FILE` has one test for each case of the suite.

Where no path is given on the command line the cases are all there is. With pytest-xdist each
worker has processes of its own. Nothing of the suite is imported unless the option is given.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemode_spec import Case

    from codemode_conformance.verdicts import CaseVerdict

TARGET: Final = "cmconf_target"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("cmconf", "conformance of a Code Mode target")
    group.addoption(
        "--cmconf-target",
        metavar="NAME|FILE",
        help="put the cases of Code Mode Conformance to this target, a test for each",
    )
    group.addoption("--cmconf-role", metavar="ROLE", help="the role to test, as cmconf run --role")
    group.addoption("--cmconf-baseline", metavar="FILE", help="known failures, xfail if they fail")


def pytest_configure(config: pytest.Config) -> None:
    """Start the suite's part of a session, if it is asked for."""
    if config.getoption(TARGET) is None:
        for option in ("cmconf_role", "cmconf_baseline"):
            if config.getoption(option) is not None:
                raise pytest.UsageError(f"--{option.replace('_', '-')} needs --cmconf-target")
        return
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args[:] = []
    config.pluginmanager.register(_Cases(config), "cmconf-cases")


class _Cases:
    """The cases of one session."""

    def __init__(self, config: pytest.Config) -> None:
        from codemode_conformance.failures import ConformanceError  # noqa: PLC0415

        self._config = config
        self._close = contextlib.ExitStack()
        self._judge: Callable[[Case], CaseVerdict] | None = None
        try:
            self._prepare()
        except ConformanceError as error:
            raise pytest.UsageError(f"cmconf: {error}") from None

    def _prepare(self) -> None:
        from datetime import UTC, datetime  # noqa: PLC0415
        from pathlib import Path  # noqa: PLC0415

        import codemode_spec  # noqa: PLC0415

        from codemode_conformance import baseline  # noqa: PLC0415
        from codemode_conformance.roles import role_name  # noqa: PLC0415
        from codemode_conformance.target import find_target  # noqa: PLC0415

        option = self._config.getoption
        self.specification = codemode_spec.shipped()
        self.target = find_target(option(TARGET))
        self.role = role_name(self.target, option("cmconf_role"))
        file = option("cmconf_baseline")
        known = baseline.load(Path(file), self.target.name, self.role) if file else None
        self.comparison = baseline.Comparison(known, datetime.now(UTC).date())
        self.comparison.finish(self.specification.cases)
        for one in self.comparison.complaints:
            raise pytest.UsageError(f"cmconf: {file}: {one.entry.named}: {one.text}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add the cases, before `-k` and others choose among all items."""
        cases = self.specification.cases.values()
        items += [
            CaseItem.from_parent(
                session, name=case.id, nodeid=f"cmconf::{case.id}", cases=self, case=case
            )
            for case in cases
            if self.role in case.roles
        ]

    def pytest_sessionfinish(self) -> None:
        """End the target."""
        self._close.close()

    def start(self) -> None:
        """Start the target unless it runs. Where it cannot be started, each test is an error."""
        if self._judge is not None:
            return
        from codemode_conformance.install import install  # noqa: PLC0415
        from codemode_conformance.quarantine import disputes, set_apart  # noqa: PLC0415
        from codemode_conformance.roles import role_of  # noqa: PLC0415
        from codemode_conformance.running import run_cases  # noqa: PLC0415

        role = self._close.enter_context(role_of(install(self.target, print), self.role))
        identity = role.start()

        def judge(case: Case) -> CaseVerdict:
            (found,) = run_cases([role], identity, self.specification, [case], self.role)
            return self.comparison.hold(set_apart(found, disputes()))

        self._judge = judge

    def judge(self, case: Case) -> tuple[CaseVerdict, list[str]]:
        """The verdict of one case, and which entries of the baseline do not hold by it."""
        assert self._judge is not None
        before = len(self.comparison.complaints)
        entry = self._judge(case)
        complaints = self.comparison.complaints[before:]
        return entry, [f"baseline: {one.problem}: {one.text}" for one in complaints]


class NotConformingError(Exception):
    """A case does not hold; the text tells its layers."""


class CaseItem(pytest.Item):
    """One case. It fails by a MUST, an error, or a known failure that passes."""

    def __init__(self, *, cases: _Cases, case: Case, **rest: Any) -> None:
        super().__init__(**rest)
        self._cases = cases
        self._case = case
        self.extra_keyword_matches.add(case.area)

    def setup(self) -> None:
        """Start the target; an error here is none of the case."""
        self._cases.start()

    def runtest(self) -> None:
        """Put the case to the target."""
        from codemode_conformance.verdicts import Verdict  # noqa: PLC0415

        entry, complaints = self._cases.judge(self._case)
        for layer in entry.layers:
            name = f"cmconf {layer.layer} {layer.requirement.id}"
            self.user_properties.append((name, str(layer.verdict)))
        text = "\n".join([told(entry), *complaints])
        failed = [
            layer
            for layer in entry.layers
            if layer.verdict in (Verdict.FAIL, Verdict.FLAKY) and layer.decides
        ]
        if failed or complaints or entry.verdict in (Verdict.ERROR, Verdict.XPASS):
            raise NotConformingError(text)
        # What a failure tells stands in its place; here it is for whoever asks for more.
        self.add_report_section("call", "layers", text)
        if entry.verdict is Verdict.XFAIL:
            pytest.xfail(_reason(entry))
        if entry.verdict in (Verdict.UNSUPPORTED, Verdict.UNTESTABLE):
            pytest.skip(f"{entry.verdict}: {_reason(entry)}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The layers, and no traceback of the suite."""
        from codemode_conformance.escape import for_terminal  # noqa: PLC0415
        from codemode_conformance.failures import ConformanceError  # noqa: PLC0415

        if isinstance(excinfo.value, NotConformingError):
            return str(excinfo.value)
        if isinstance(excinfo.value, ConformanceError):
            return f"cmconf: {for_terminal(str(excinfo.value), backslash=False)}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Where it stands: in the target file."""
        return self._cases.target.file, None, self._case.id


def told(entry: CaseVerdict) -> str:
    """The case with its layers, a few lines of safe text."""
    from codemode_conformance.escape import for_terminal  # noqa: PLC0415

    lines = [f"{entry.verdict} {entry.case.id}: {entry.case.title}"]
    for layer in entry.layers:
        requirement = layer.requirement
        advice = "" if layer.decides else ", advice"
        lines.append(
            f"  {layer.layer}: {layer.verdict}{advice}, {requirement.id} {requirement.text}"
        )
        lines += [
            f"    {name}: {getattr(layer.finding, name)}"
            for name in ("reason", "expected", "observed")
            if getattr(layer.finding, name)
        ]
    return "\n".join(for_terminal(line, backslash=False) for line in lines)


def _reason(entry: CaseVerdict) -> str:
    from codemode_conformance.escape import for_terminal  # noqa: PLC0415

    return next(
        (
            for_terminal(layer.finding.reason)
            for layer in entry.layers
            if layer.verdict is entry.verdict and layer.finding.reason
        ),
        "",
    )
