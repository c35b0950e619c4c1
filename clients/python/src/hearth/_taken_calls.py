"""Calls of host tools that this process has taken."""

from __future__ import annotations

from typing import Any, Optional


class TakenCalls:
    """Keeps the calls whose functions were begun, so that none runs twice.

    A gateway that was started again gives a call once more, because it knows
    no longer which process has it. Then there may be an answer that the one
    before did not get. One thread begins calls; each may be answered and ended
    in another one.
    """

    def __init__(self) -> None:
        #: By number; None while the function works.
        self._answers: dict[int, Optional[dict[str, Any]]] = {}
        self._ended: set[int] = set()

    def begin(self, number: int) -> bool:
        """Take a call. Returns whether it is new: its function is to run."""
        if number in self._answers:
            return False
        self._answers[number] = None
        return True

    def keep_answer(self, number: int, answer: dict[str, Any]) -> None:
        """Note that the function has ended."""
        self._answers[number] = answer

    def answer_to(self, number: int) -> Optional[dict[str, Any]]:
        """Return the answer that the gateway does not have yet; None while
        the function works, and when the call has ended."""
        return None if number in self._ended else self._answers.get(number)

    def end(self, number: int) -> None:
        """Note that the gateway has the answer, or wants none any more."""
        self._ended.add(number)

    def forget_ended(self) -> None:
        """Forget the calls that have ended. To be called before a request for
        calls is sent: no answer to a later request has them."""
        while self._ended:
            self._answers.pop(self._ended.pop(), None)
