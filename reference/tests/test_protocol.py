"""The state machine."""

import pytest
from codemode_reference.protocol import Machine
from codemode_spec.tables import load_tables


@pytest.mark.parametrize("name", ["parent", "worker"])
def test_every_cell_of_the_table_is_obeyed(name):
    """Each event in each state leads where the table says."""
    table = load_tables().endpoints[name]
    for state, row in table.transitions.items():
        for event, step in row.items():
            machine = Machine(table)
            machine.state = state
            assert machine.on(event) == step
            ended = step.error is not None or step.exit is not None
            expected = step.next or (table.final if ended else state)
            assert machine.state == expected
            assert machine.ended == (expected == table.final)


def test_an_unknown_event_is_a_fault_of_ours():
    """The table is closed."""
    with pytest.raises(KeyError):
        Machine(load_tables().endpoints["parent"]).on("mystery")


def test_a_machine_can_be_ended():
    """Reasons outside the table end it too."""
    machine = Machine(load_tables().endpoints["parent"])
    machine.end()
    assert machine.ended
