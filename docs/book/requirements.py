"""Requirements: one page for each area, one anchor for each requirement."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from book.markdown import code, codes, facts, link, links, paragraphs, prose, table, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from codemode_spec import Case, Requirement, Specification

AREAS: Final = {
    "POL": "Policy",
    "SRC": "Source admission",
    "FRM": "Frames",
    "LIF": "Process life",
    "ISO": "Isolation",
    "TIM": "Deadlines and cancellation",
    "MEM": "Heap and stack",
    "CAL": "Host calls",
    "BAT": "Batches",
    "DAT": "Data movement",
    "PAG": "Pages and snapshots",
    "VAL": "Values",
    "ERR": "Errors and redaction",
    "EVD": "Execution evidence",
    "API": "Script surface",
    "RET": "Returned value",
    "RDO": "Read-only",
    "ADM": "Admission",
    "FAI": "Server fairness",
    "DIA": "Diagnostics",
    "PRG": "Progress",
    "MCP": "MCP tool surface",
}
_UNTESTABLE: Final = {
    "internal": "it cannot be seen from outside",
    "needs_role": "it needs a role that the suite does not play yet",
    "needs_clock": "it needs a clock that the suite does not have",
    "needs_platform": "it needs a platform feature that is not everywhere",
}


def areas(specification: Specification) -> dict[str, list[Requirement]]:
    """Requirements by area, areas in the order of the specification."""
    found: dict[str, list[Requirement]] = {}
    for item in specification.requirements.values():
        found.setdefault(item.area, []).append(item)
    known = list(AREAS)
    order = sorted(found, key=lambda area: (known.index(area) if area in AREAS else 99, area))
    return {area: found[area] for area in order}


def index_page(specification: Specification) -> str:
    """The page that lists the areas."""
    found = areas(specification)
    judged = judging(specification)
    rows = []
    for area, items in found.items():
        levels = Counter(item.level for item in items)
        with_case = sum(1 for item in items if judged.get(item.id))
        rows.append(
            (
                link(area, f"area-{area}"),
                AREAS.get(area, area),
                str(len(items)),
                str(levels["MUST"]),
                str(with_case),
            )
        )
    toctree = "\n".join(area.lower() for area in found)
    return paragraphs(
        words(
            "requirements",
            count=len(specification.requirements),
            areas=len(found),
            revision=code(specification.revision),
        ),
        table(("area", "about", "requirements", "MUST", "with a case"), rows),
        f"```{{toctree}}\n:hidden:\n\n{toctree}\n```",
    )


def area_page(area: str, specification: Specification) -> str:
    """The page of one area."""
    items = areas(specification)[area]
    judged = judging(specification)
    overview = table(
        ("id", "requirement", "class", "level"),
        ((link(item.id, item.id), prose(item.text), item.klass, item.level) for item in items),
    )
    return paragraphs(
        f"(area-{area})=\n# {area}: {AREAS.get(area, area)}",
        overview,
        *(_requirement(item, judged.get(item.id, {}), specification) for item in items),
    )


def judging(specification: Specification) -> dict[str, dict[str, list[Case]]]:
    """For each requirement the cases that judge it, by the layer in which they do."""
    found: dict[str, dict[str, list[Case]]] = {}
    for case in specification.cases.values():
        for layer, name in case.requirements.items():
            found.setdefault(name, {}).setdefault(layer, []).append(case)
    return found


def _requirement(
    item: Requirement, judged: Mapping[str, list[Case]], specification: Specification
) -> str:
    known_rows, known_codes = specification.tables.rows, specification.tables.errors
    rows, error_codes = (tuple(getattr(item, name, None) or ()) for name in ("rows", "codes"))
    alternatives = "; ".join(
        f"{link(code(name), f'alternative-{name}')} is {' or '.join(map(code, values))}"
        for name, values in item.alternatives.items()
    )
    return paragraphs(
        f"({item.id})=\n## {item.id}",
        f"**{prose(item.text)}**",
        f"*Why:* {prose(item.why)}",
        facts(
            (
                ("Class and level", f"{item.klass}, {item.level}"),
                ("Tested in the roles", ", ".join(item.roles)),
                ("Promised by", ", ".join(_origin(name) for name in item.origin)),
                ("Needs", codes(_words(item.needs))),
                ("Asked where", alternatives),
                ("Rows", _known(rows, known_rows, "row")),
                ("Codes", _known(error_codes, known_codes, "error")),
                ("Since", prose(item.since)),
                ("Judged by", "" if judged else _unjudged(item)),
            )
        ),
        _cases(judged),
    )


def _origin(name: str) -> str:
    return "this specification" if name == "design" else link(code(name), f"profile-{name}")


def _known(names: Iterable[str], known: Mapping[str, Any], kind: str) -> str:
    found = list(names)
    return links((n for n in found if n in known), kind) or codes(found)


def _words(needs: Iterable[Any]) -> list[str]:
    return [need if isinstance(need, str) else " or ".join(need) for need in needs]


def _unjudged(item: Requirement) -> str:
    if item.untestable is None:
        return "no case yet"
    reason, text = item.untestable
    return f"no case: {_UNTESTABLE.get(reason, reason.replace('_', ' '))}. {prose(text)}"


def _cases(judged: Mapping[str, list[Case]]) -> str:
    if not judged:
        return ""
    families: dict[str, dict[str, list[Case]]] = {}
    for layer, cases in judged.items():
        for case in cases:
            families.setdefault(family(case), {}).setdefault(layer, []).append(case)
    rows = []
    for name, layers in families.items():
        first = next(iter(layers.values()))[0]
        variants = {case.id for members in layers.values() for case in members}
        count = f" ({len(variants)} variants)" if first.variant else ""
        title = first.title.removesuffix(f" ({first.variant})")
        rows.append((f"{code(name)}{count}", prose(title), ", ".join(layers)))
    return paragraphs("Judged by:", table(("case", "story", "layers"), rows))


def family(case: Case) -> str:
    """The id without the variant."""
    return case.id.removesuffix(f".{case.variant}") if case.variant else case.id
