"""Deferral of signals such as Ctrl-C, and recognition of the errors that signals cause."""

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from starcast.support.progress import caused_by_interrupt, defer_signals, sigterm_as_interrupt


def fail_while_interrupted() -> None:
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        raise OSError("the socket is in the middle of a message")


def interrupt_twice(events: list[str]) -> None:
    with defer_signals(lambda: events.append("acted")):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        events.append("went on")
    events.append("never")


def test_a_deferred_signal_runs_the_given_action_at_once_and_interrupts_after_the_block() -> None:
    events: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupt_twice(events)
    assert events == ["acted", "acted", "went on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_deferred_signal_replaces_the_error_that_it_caused() -> None:
    with pytest.raises(KeyboardInterrupt), defer_signals(lambda: None):
        fail_while_interrupted()


def test_without_a_signal_deferring_signals_raises_only_the_errors_of_the_block() -> None:
    with defer_signals(lambda: pytest.fail("no signal was sent")):
        pass
    with pytest.raises(OSError, match="the socket is closed"), defer_signals(lambda: None):
        raise OSError("the socket is closed")


def test_sigterm_is_deferred_like_ctrl_c_if_it_is_handled_like_ctrl_c() -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        sigterm_as_interrupt(),
        defer_signals(lambda: None),
    ):
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_deferring_signals_outside_the_main_thread_has_no_effect() -> None:
    events: list[str] = []

    def work() -> None:
        with defer_signals(lambda: events.append("acted")):
            events.append("worked")

    with ThreadPoolExecutor() as pool:
        pool.submit(work).result()
    assert events == ["worked"]


def fail_because_of_the_interrupted_call() -> None:
    try:
        fail_while_interrupted()
    except OSError as error:
        raise ValueError("no answer") from error


@pytest.mark.parametrize("act", [fail_while_interrupted, fail_because_of_the_interrupted_call])
def test_an_error_that_an_interrupt_caused_is_recognised(act: Callable[[], None]) -> None:
    with pytest.raises((OSError, ValueError)) as caught:
        act()
    assert caused_by_interrupt(caught.value)
    assert not caused_by_interrupt(OSError("alone"))
