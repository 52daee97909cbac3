"""The reading thread keeps the order, stays bounded, passes failures on and never outlives its consumer."""

import threading
import time
from contextlib import closing

import pytest

from hushcount.sources.read_ahead import Wakeable, read_ahead


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "hushcount-read-ahead"]


def test_order():
    for depth in (1, 2, 5):
        assert list(read_ahead(iter(range(1000)), depth)) == list(range(1000))
    assert list(read_ahead(iter([]))) == []
    assert not threads()


def test_bounded():
    made = []

    def items():
        for index in range(100):
            made.append(index)
            yield index

    with closing(read_ahead(items(), depth=3)) as ahead:
        for index in ahead:
            time.sleep(0.002 if index < 20 else 0)
            # The consumer holds one item, the queue three, the thread one.
            assert len(made) <= index + 1 + 3 + 1


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt()])
def test_failures_of_the_reader(error):
    def items():
        yield 1
        raise error

    found = []
    with pytest.raises(type(error)) as caught:
        found.extend(read_ahead(items()))
    assert caught.value is error
    assert not threads()


def test_items_come_before_the_failure():
    def items():
        yield from (1, 2)
        raise ValueError

    ahead = read_ahead(items())
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(ValueError, match=r"^$"):
        next(ahead)


def test_closing_early_ends_the_thread_and_the_items():
    closed = []

    def items():
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    ahead = read_ahead(items())
    assert next(ahead) == 1
    assert threads()
    ahead.close()
    assert not threads()
    assert closed == [True]


def test_failure_of_the_consumer_ends_the_thread():
    def consume():
        with closing(read_ahead(iter(range(10**9)))) as ahead:
            for _ in ahead:
                raise RuntimeError("consumer")

    with pytest.raises(RuntimeError, match="consumer"):
        consume()
    assert not threads()


def test_cancel_interrupts_a_long_read():
    cancelled = threading.Event()

    def items():
        yield 1
        cancelled.wait()

    ahead = read_ahead(items(), cancel=cancelled.set)
    assert next(ahead) == 1
    ahead.close()
    assert cancelled.is_set()
    assert not threads()


def test_nothing_starts_before_the_first_item():
    read_ahead(iter([1]))
    assert not threads()


def test_a_wait_for_items_that_never_come_can_be_ended_from_elsewhere():
    silence, failures = threading.Event(), []

    def items():
        yield 1
        silence.wait(20)

    found = Wakeable(items())
    assert found.next() == 1

    def wait():
        try:
            found.next()
        except KeyboardInterrupt as failure:
            failures.append(failure)

    waiting = threading.Thread(target=wait)
    waiting.start()
    found.stop()
    waiting.join(10)
    silence.set()
    found.close()
    assert len(failures) == 1


def test_wakeable_items_come_in_order_to_their_end_or_failure():
    found = Wakeable(iter([1, 2]))
    assert [found.next(), found.next(), found.next()] == [1, 2, None]
    found.close()

    def failing():
        yield 1
        raise ValueError("mine")

    broken = Wakeable(failing())
    assert broken.next() == 1
    with pytest.raises(ValueError, match="mine"):
        broken.next()
    Wakeable(iter([1])).close()
