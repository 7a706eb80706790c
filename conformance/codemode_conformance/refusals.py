"""When a refusal is the verdict that a case asks for, and not one of its surroundings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemode_spec.tables import load_tables

if TYPE_CHECKING:
    from codemode_spec import Case


def is_verdict(case: Case, code: object, *, rate: bool, filtered: bool) -> bool:
    """Whether a case is judged by this refusal: it is about the filter, or about the limit.

    `code` is the code of the refusal in our vocabulary, if it has one; `rate` and `filtered` say
    that it is for a rate, and by a filter of programs. A limit is one that the case has set.
    """
    limits = {load_tables().rows[row].error for row in case.set}
    return (filtered and not rate and case.filtered) or (code is not None and code in limits)
