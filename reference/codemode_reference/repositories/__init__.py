"""A read-only catalogue over local git repositories: pages, cursors and snapshots that are real."""

from codemode_reference.repositories.builtin import builtin
from codemode_reference.repositories.catalogue import repository_operations
from codemode_reference.repositories.store import Repository

__all__ = ["Repository", "builtin", "repository_operations"]
