"""The time that counts against a deadline."""

from codemode_reference.clock import Clock


def test_nothing_counts_before_the_start():
    """Starting a worker is not the time of its program."""
    clock = Clock(excluded=True)
    assert (clock.started, clock.elapsed_ms(50.0)) == (False, 0.0)


def test_waiting_counts_where_it_is_not_excluded():
    """The clock of a profile that counts waiting never stands still."""
    clock = Clock(excluded=False)
    clock.start(1.0)
    clock.wait(2.0)
    assert (clock.stands, clock.elapsed_ms(4.0)) == (False, 3000.0)


def test_waiting_does_not_count_where_it_is_excluded():
    """Two waits are taken away, the one under way included, and nothing else."""
    clock = Clock(excluded=True)
    clock.start(1.0)
    clock.wait(2.0)
    clock.wait(2.5)  # a second call of the same wait
    assert (clock.stands, clock.elapsed_ms(4.0)) == (True, 1000.0)
    clock.go_on(5.0)
    assert (clock.stands, clock.elapsed_ms(6.0)) == (False, 2000.0)
    clock.wait(7.0)
    clock.go_on(9.0)
    clock.go_on(10.0)
    assert clock.elapsed_ms(10.0) == 4000.0
