"""The reference with an accounting bug: a host value that is refused is charged all the same."""

import runpy
import sys

from codemode_reference.ledger import Ledger

deliver = Ledger.deliver


def charging(self, operation, size):
    """Charge a value before it is looked at whether it may pass."""
    refused = deliver(self, operation, size)
    if refused is not None:
        self.delivered_bytes += size
    return refused


Ledger.deliver = charging
adapter = sys.argv[1]
sys.argv = [adapter]
runpy.run_path(adapter, run_name="__main__")
