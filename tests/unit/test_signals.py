"""Ctrl-C: a deferred signal acts once, at the end; errors that it caused are recognised."""

import signal
import threading
from collections.abc import Callable

import pytest

from starcast.support.signals import caused_by_interrupt, defer_signals, sigterm_as_interrupt


def strikes_twice(events: list[str]) -> None:
    with defer_signals(lambda: events.append("acted")):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        events.append("went on")
    events.append("never")


def test_a_deferred_signal_acts_at_once_and_is_raised_at_the_end() -> None:
    events: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        strikes_twice(events)
    assert events == ["acted", "acted", "went on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def fails_when_struck() -> None:
    with defer_signals(lambda: None):
        signal.raise_signal(signal.SIGINT)
        raise OSError("the socket is closed")


def test_a_deferred_signal_replaces_the_error_that_it_caused() -> None:
    with pytest.raises(KeyboardInterrupt):
        fails_when_struck()


def test_without_a_signal_nothing_is_raised() -> None:
    with defer_signals(lambda: pytest.fail("nobody struck")):
        pass
    with pytest.raises(OSError, match="the socket is closed"), defer_signals(lambda: None):
        raise OSError("the socket is closed")


def sigterm_postponed() -> None:
    with sigterm_as_interrupt(), defer_signals(lambda: None):
        signal.raise_signal(signal.SIGTERM)


def test_sigterm_is_deferred_if_it_acts_as_ctrl_c() -> None:
    with pytest.raises(KeyboardInterrupt):
        sigterm_postponed()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_other_threads_can_defer_signals_without_effect() -> None:
    events: list[str] = []

    def work() -> None:
        with defer_signals(lambda: events.append("acted")):
            events.append("worked")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert events == ["worked"]


def leaves_an_error_behind() -> None:
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        raise OSError("the socket is in the middle of a message")


def tells_of_it_in_words() -> None:
    try:
        leaves_an_error_behind()
    except OSError as error:
        raise ValueError("nobody answers") from error


@pytest.mark.parametrize("act", [leaves_an_error_behind, tells_of_it_in_words])
def test_an_error_that_an_interruption_caused_is_recognised(act: Callable[[], None]) -> None:
    with pytest.raises((OSError, ValueError)) as caught:
        act()
    assert caused_by_interrupt(caught.value)
    assert not caused_by_interrupt(OSError("alone"))
