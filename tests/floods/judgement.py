# SPDX-License-Identifier: Apache-2.0
"""Judges the rows of run.py, and writes them as a page of results."""
import statistics

MEGA = 1e6
KINDS = ("check", "classify", "fresh")
FLOODS = {
    "reset": "calls begun and reset (CVE-2023-44487)",
    "provoked-reset": "resets provoked by protocol violations (CVE-2025-8671)",
    "continuation": "CONTINUATION without end",
    "settings": "SETTINGS",
    "ping": "PING",
    "empty-data": "empty DATA",
    "empty-headers": "HEADERS without a field",
    "binary-headers": "calls with 50 binary headers",
    "window-update": "WINDOW_UPDATE",
    "priority": "PRIORITY",
    "hpack-bomb": "headers of one byte that stand for 3,900 bytes",
    "ignored": "frames without effect",
    "slow-preface": "connections that send a byte a second",
    "window-0": "answers that are never read",
    "tls-handshakes": "TLS handshakes",
    "connect-and-leave": "connections that are closed at once",
    "pipelined": "idle connections, after 128 KiB of HTTP/1 requests",
    "slow-bodies": "256 streams on a connection, each with a slow body",
}
SCENARIOS = {
    "proxy": "1,000 users of a proxy, whose deadlines pass",
    "unread": "60 connections that never read large answers",
    "get-model": "GetModel with 64 sizes without pause, from 3 clients",
}
# Floods below the server's minimum rates, which are enforced after 20 s (preface) and 30 s. Value: what the server must end, and the name
# of its count in the flood's result.
SLOW = {"slow-preface": ("connections", "cut_off"), "window-0": ("calls", "resets"), "slow-bodies": ("calls", "ended")}
SLOW_SECONDS = 45  # least time of these floods
ANSWER_BUDGET = 128 << 20  # limit on the bytes of waiting answers in the scenario `unread`
UNREAD_CONNECTIONS, UNREAD_STREAMS = 60, 256

EXPLANATION = """\
The server runs on one core; attackers and other callers share another core. Each attack has its own server. It runs for {seconds:g} seconds
from {connections} connections, which reconnect when they are closed. `slow-preface`, `window-0` and `slow-bodies` run for {slow_seconds:g}
seconds, because the server ends slow connections and calls only after 20 or 30 s. The other callers call `Check` and a small `Classify`;
"fresh" opens a connection for each `Check`, about 20 a second. `a -> b` are the value just before the attack and the value during it.

- goal: no call of the other callers fails, the p99 of each kind grows by at most 20 ms, and memory by at most 20 MB;
- must: the same with 50 ms and 50 MB;
- MISSED: neither, or the attack sent less than its minimum, or the server ended too few slow connections or calls.

`proxy`, `unread` and `get-model` have bounds of their own, which `tests/floods/run.py --help` lists. `unread` is judged by the growth of
memory, not by "RSS MB": before the attack, RSS includes the weights of a model with 21,843 classes. "frames" are the frames sent, "cut
off" are the connections that the server closed, and "reasons" are the server's reasons for all connections that ended."""


def least_sent(name, seconds, connections):
    """Returns (count in the flood's result, minimum). A flood below the minimum does not count as an attack; usual counts are far higher."""
    if name == "slow-preface":
        return "connections", 300 * connections
    if name in ("window-0", "slow-bodies"):
        return "begun", 32 * connections
    if name in ("tls-handshakes", "connect-and-leave"):
        return "connections", 50 * seconds
    if name == "unread":
        return "begun", UNREAD_CONNECTIONS * UNREAD_STREAMS
    if name == "get-model":
        return "answered", 100 * seconds
    if name == "pipelined":
        return "frames", 32 * 300 * connections
    return "frames", 1000 * seconds


def too_few(name, sent, seconds, connections):
    """Returns a sentence with the flood's count and its minimum if the flood sent too little, otherwise an empty string."""
    count, least = least_sent(name, seconds, connections)
    return "" if sent[count] >= least else f"sent too little: {sent[count]} {count}, at least {least:g} expected"


def ended(name, sent, connections):
    """Returns True if the server ended at least the number of connections or calls that a slow flood must begin, and a note."""
    if name not in SLOW:
        return True, ""
    what, count = SLOW[name]
    _, least = least_sent(name, SLOW_SECONDS, connections)
    return sent[count] >= least, f"the server ended {sent[count]} {what}; at least {least:g} expected"


def slow_seconds(seconds):
    return max(seconds, SLOW_SECONDS)


def failures(row):
    """Returns a text that says how the server or a call failed; an empty string if nothing failed."""
    if row["exit"] is not None:
        return f"exit {row['exit']}"
    for kind in KINDS:
        for part in ("base", "beside"):
            if not row[part][kind]["calls"]:
                return f"{kind}: no call"
        if row["beside"][kind]["failed"]:
            return f"{kind}: {row['beside'][kind]['first_failure']}"
    return ""


def judge_flood(row, seconds, connections):
    """Adds the verdict to the row of a flood."""
    row["failures"] = sum(row["beside"][kind]["failed"] for kind in KINDS)
    later = max(row["beside"][kind]["p99_ms"] - row["base"][kind]["p99_ms"] for kind in KINDS)
    growth = (row["rss_most"] - row["rss_before"]) / MEGA
    name, sent = row["flood"], row["sent"]
    is_ended, note = ended(name, sent, connections)
    why = failures(row) or too_few(name, sent, seconds, connections)
    row |= {"later_ms": later, "growth_mb": growth, "why": why or note}
    row["verdict"] = ("MISSED" if why or not is_ended else "goal" if later <= 20 and growth <= 20 else
                      "must" if later <= 50 and growth <= 50 else "MISSED")
    return row


def judge_get_model(rounds, seconds):
    """Returns the row of the round whose ratio of p99 is the median, and adds the verdict on all rounds to this row."""
    def times(row):
        base = row["base"]["classify"]["p99_ms"]
        return row["beside"]["classify"]["p99_ms"] / base if base else float("inf")
    ratios = [times(row) for row in rounds]
    middle = statistics.median_low(ratios)
    row = dict(rounds[ratios.index(middle)], flood="get-model", rounds=rounds)
    bad = next(filter(None, (failures(each) or too_few("get-model", each["sent"], seconds, 3) for each in rounds)), "")
    row["verdict"] = "MISSED" if bad or middle > 2 else "goal" if middle <= 1.2 else "must"
    row["why"] = (f"p99 of Classify {middle:.1f} times that of alone, the median of {len(ratios)} rounds ("
                  + ", ".join(f"{ratio:.1f}" for ratio in ratios)
                  + f"); the row is that round, with {row['sent']['answered']} answers of GetModel" + (bad and f"; {bad}"))
    return row


def judge_unread(row, size):
    """Adds the verdict to the row of the scenario `unread`. `size`: bytes of an answer. `row["samples"]`: pairs (waiting answers, gauge).

    A sample counts only if the number of waiting answers is the same three samples earlier and one sample later. Otherwise an answer may
    have been added or sent between the measurements of the two numbers. The worst sample that counts is judged."""
    samples, sent = row["samples"], row["sent"]
    off = [gauge / (waiting * (size + 5)) - 1 for (waiting, gauge), past, then in zip(samples[3:], samples, samples[4:])
           if waiting and past[0] == waiting == then[0]]
    most_waiting, most_gauge = (max(values, default=0) for values in list(zip(*samples)) or [(), ()])
    worst = max(off, key=abs, default=None)
    bad = (too_few("unread", sent, 0, 0) or ("the gauge is never steady" if worst is None else "")
           or ("" if most_gauge >= ANSWER_BUDGET / 2 else "the answers do not fill half of their budget"))
    is_right = not bad and abs(worst) <= 0.02 and row["exit"] is None
    bound = ANSWER_BUDGET / MEGA + 100
    row["verdict"] = "must" if is_right and row["growth_mb"] <= bound else "MISSED"
    row["why"] = (f"memory grows by {row['growth_mb']:.0f} MB, at most {bound:.0f}; at most {most_waiting} answers of {size} bytes wait, {most_waiting * size / MEGA:.0f} MB; gauge at most "
                  f"{most_gauge / MEGA:.0f} MB" + (f", off by {100 * worst:+.1f} % at worst of {len(off)} samples" if off else "")
                  + (bad and f"; {bad}"))
    return row


def table(rows):
    head = ["attack", "verdict", "failed of calls", "Check p99 ms", "Classify p99 ms", "fresh p99 ms", "RSS MB",
            "sent MB", "frames", "connections", "cut off", "reasons", "note"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        sent, calls = row["sent"], row.get("beside", {})
        p99 = [f"{row['base'][kind]['p99_ms']:.1f} -> {calls[kind]['p99_ms']:.1f}" if calls else "" for kind in KINDS]
        failed, total = (sum(calls[kind][key] for kind in KINDS if calls) for key in ("failed", "calls"))
        lines.append("| " + " | ".join(str(cell) for cell in [
            f"`{row['flood']}`: {(FLOODS | SCENARIOS)[row['flood']]}", row["verdict"], f"{failed} of {total}" if calls else "", *p99,
            f"{row['rss_before'] / MEGA:.0f} -> {row['rss_most'] / MEGA:.0f}", f"{sent['bytes'] / MEGA:.1f}",
            sent["frames"], sent["connections"], sent["cut_off"],
            " ".join(f"{key} {value}" for key, value in row.get("closed", {}).items()), row.get("why", "")]) + " |")
    return "\n".join(lines) + "\n"
