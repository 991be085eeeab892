# SPDX-License-Identifier: Apache-2.0
"""The rules of a stream, tested with a simulated clock."""

import json
import random
from typing import Any, Dict, List, Optional

import grpc
import pytest
from conftest import ROOT

from vitrine import RetryPolicy, errors
from vitrine._pipeline import Entry, Pipeline
from vitrine.v1 import classifier_pb2 as pb


def request(number: int) -> pb.ClassifyRequest:
    return pb.ClassifyRequest(image=b"%d" % number)


def answer(sent: pb.ClassifyRequest, label: bytes) -> pb.ClassifyStreamResponse:
    response = pb.ClassifyStreamResponse(request_id=sent.request_id)
    response.response.predictions.add(label=label.decode())
    return response


def refusal(sent: pb.ClassifyRequest, code: int, retry_after: float = 0.0) -> pb.ClassifyStreamResponse:
    response = pb.ClassifyStreamResponse(request_id=sent.request_id)
    response.error.code, response.error.message, response.error.retry_after = code, "refused", retry_after
    return response


def label(entry: Entry) -> Optional[str]:
    return entry.outcome.predictions[0].label if isinstance(entry.outcome, pb.ClassifyResponse) else None


def make(places: int = 4, deadline: float = 10) -> Pipeline:
    return Pipeline(deadline, places, RetryPolicy(), uniform=lambda: 0.0)


def test_retry_delays_follow_the_policy() -> None:
    policy = RetryPolicy(max_attempts=5, initial_backoff=0.1, max_backoff=0.3)
    gone = errors.Unavailable("")
    assert [policy.delay(gone, n, 99, 0.0) for n in (1, 2, 3, 4, 5)] == [0.05, 0.1, 0.15, 0.15, None]
    assert policy.delay(gone, 1, 99, 1.0) == pytest.approx(0.1)
    assert policy.delay(gone, 1, 0.05, 0.0) is None
    assert policy.delay(errors.ResourceExhausted(""), 1, 99, 0.0) is None
    assert policy.delay(errors.ResourceExhausted("", retry_after=7), 1, 99, 0.5) == pytest.approx(7.7)
    assert policy.delay(errors.Unavailable("", retry_after=7), 1, 99, 0.0) == 7
    for code in (code.name for code in grpc.StatusCode):
        if code not in ("OK", "UNAVAILABLE", "RESOURCE_EXHAUSTED"):
            assert policy.delay(errors.of_code(code, "", retry_after=7), 1, 99, 0.0) is None


def test_requests_in_flight_are_limited_and_answers_ordered() -> None:
    pipeline = make(places=2)
    for number in range(3):
        pipeline.take(request(number), number)
    first, second = pipeline.due(0)
    assert pipeline.due(0) == []
    pipeline.answered(answer(second, b"1"), 0)
    assert list(pipeline.finished()) == []
    (third,) = pipeline.due(0)
    pipeline.answered(answer(first, b"0"), 0)
    assert [label(entry) for entry in pipeline.finished()] == ["0", "1"]
    pipeline.answered(answer(third, b"2"), 0)
    assert [entry.index for entry in pipeline.finished()] == [2] and pipeline.empty and pipeline.idle


def test_window_is_bounded() -> None:
    pipeline = make(places=2)
    for number in range(8):
        assert pipeline.wants()
        pipeline.take(request(number), None)
    assert not pipeline.wants()


def test_only_the_faulty_request_fails() -> None:
    pipeline = make()
    for number in range(4):
        pipeline.take(request(number), None)
    assert len(pipeline.due(0)) == 4
    pipeline.ended(errors.ResourceExhausted("too large"), 1)
    results: Dict[int, Any] = {}
    while not pipeline.empty:
        (alone,) = pipeline.due(1)
        assert pipeline.due(1) == []
        if alone.image == b"2":
            pipeline.ended(errors.ResourceExhausted("too large"), 1)
        else:
            pipeline.answered(answer(alone, alone.image), 1)
        results.update((entry.index, label(entry)) for entry in pipeline.finished())
    assert results == {0: "0", 1: "1", 2: None, 3: "3"} and pipeline.failure is None


def test_deadline_excludes_paused_time() -> None:
    pipeline = make(deadline=10)
    pipeline.take(request(0), None)
    (sent,) = pipeline.due(100)
    pipeline.paused(50)
    assert not pipeline.expire(155) and pipeline.wait(155) == 5
    assert pipeline.expire(160), "the server works for nobody"
    (entry,) = pipeline.finished()
    assert isinstance(entry.outcome, errors.DeadlineExceeded)


def test_a_late_answer_is_dropped() -> None:
    pipeline = make(deadline=10)
    for number in range(2):
        pipeline.take(request(number), None)
    first, _ = pipeline.due(0)
    pipeline.take(request(2), None)
    pipeline.due(9)
    assert not pipeline.expire(10)
    assert [type(entry.outcome) for entry in pipeline.finished()] == [errors.DeadlineExceeded] * 2
    pipeline.answered(answer(first, b"0"), 11)
    assert list(pipeline.finished()) == [] and pipeline.failure is None


# Scenarios shared with the C++ client; the file explains its format.
_SCENARIOS = json.loads((ROOT / "tests/client/lib/stream_events.json").read_text())["scenarios"]


class Player:
    """Plays the events of a scenario to a pipeline, one after the other."""

    def __init__(self, places: int, deadline: float, attempts: int) -> None:
        policy = RetryPolicy(max_attempts=attempts, initial_backoff=2, max_backoff=16)
        self._pipeline = Pipeline(deadline, places, policy, uniform=lambda: 0.0)
        self._taken = 0
        self._sent: Dict[int, pb.ClassifyRequest] = {}  # the last attempt of each image, by its index

    def play(self, event: Dict[str, Any]) -> Dict[str, Any]:
        """Plays an event and returns its effects, by the names that stream_events.json uses."""
        pipeline, now = self._pipeline, event["at"]
        for _ in range(event.get("take", 0)):
            pipeline.take(request(self._taken), None)
            self._taken += 1
        indices, code, retry_after = event.get("refuse", ((), "UNKNOWN", 0))
        for index in indices:
            pipeline.answered(refusal(self._sent[index], grpc.StatusCode[code].value[0], retry_after), now)
        for index in event.get("answer", ()):
            pipeline.answered(answer(self._sent[index], self._sent[index].image), now)
        if "end" in event:
            pipeline.ended(None if event["end"] == "OK" else errors.of_code(event["end"], "the end"), now)
        brings: Dict[str, Any] = {"cancel": pipeline.expire(now)}
        due = pipeline.due(now)
        self._sent.update((int(one.image), one) for one in due)
        brings["send"] = [int(one.image) for one in due]
        brings["left"] = [one.time_limit for one in due]
        brings["give"] = [getattr(entry.outcome, "code", "OK") for entry in pipeline.finished()]
        brings["lost"] = pipeline.failure and pipeline.failure.code
        wait = pipeline.wait(now)
        brings["next"] = "none" if wait is None else now + wait
        return brings


@pytest.mark.parametrize("scenario", _SCENARIOS, ids=[scenario["name"] for scenario in _SCENARIOS])
def test_pipeline_follows_the_recorded_scenarios(scenario: Dict[str, Any]) -> None:
    player = Player(scenario["places"], scenario["deadline"], scenario["attempts"])
    for event in scenario["events"]:
        expected: Dict[str, Any] = {"cancel": False, "send": [], "give": [], "lost": None}
        expected.update((key, event[key]) for key in ("cancel", "send", "left", "give", "lost", "next") if key in event)
        brings = player.play(event)
        assert {key: brings[key] for key in expected} == expected, event


@pytest.mark.parametrize("seed", range(200))
def test_random_failures_give_each_result_once_in_order(seed: int) -> None:
    """The server randomly rejects requests, dies, ends streams or does not answer."""
    chance = random.Random(seed)
    pipeline = Pipeline(10, chance.randint(1, 8), RetryPolicy(max_attempts=chance.randint(1, 6)), chance.random)
    total, taken, now = 60, 0, 0.0
    held: List[pb.ClassifyRequest] = []
    given: List[Entry] = []
    for _ in range(100_000):
        if pipeline.wants() and taken < total:
            wrong = chance.random() < 0.05
            pipeline.take(errors.InvalidArgument("unreadable") if wrong else request(taken), taken)
            taken += 1
        pipeline.source_ended = pipeline.source_ended or taken == total
        held += pipeline.due(now)
        given += pipeline.finished()
        if pipeline.empty and pipeline.source_ended:
            break
        now += chance.random()
        event = chance.random()
        if held and event < 0.7:
            one = held.pop(chance.randrange(len(held)))
            kind = chance.random()
            if kind < 0.7:
                pipeline.answered(answer(one, one.image), now)
            else:
                pipeline.answered(refusal(one, chance.choice((3, 8, 14)), chance.choice((0.0, 0.5))), now)
        elif event < 0.75:
            held.clear()
            pipeline.ended(chance.choice((None, errors.Unavailable("x"), errors.ResourceExhausted("x"))), now)
        if pipeline.expire(now):
            held.clear()
    assert [entry.index for entry in given] == list(range(taken)) == [entry.tag for entry in given]
    assert taken == total or pipeline.failure is not None
    for entry in given:
        assert label(entry) in (None, str(entry.index))
