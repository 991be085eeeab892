#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of RFC 9113 and RFC 7541 against an HTTP/2 server without TLS.

    run.py HOST:PORT [--only TEXT] [--list]

HOST:PORT may be unix:///PATH. The target should serve gRPC's health service; --path and --watch name other methods.
Exit code: 0 if no case failed. A case that behaves as deviations.py says counts as "deviates", not as failed. A case that
deviations.py lists fails if it conforms."""

import argparse
import sys

import case
import deviations
import frame_cases  # noqa: F401 (the import registers the cases)
import hpack_cases  # noqa: F401
import message_cases  # noqa: F401
import starting_cases  # noqa: F401
import stream_cases  # noqa: F401
import window_cases  # noqa: F401


def run_one(each, address):
    """Returns "passed", "deviates", "skipped" or "failed", and the reason."""
    with case.Connection(address, begin=each.begins) as client:
        if each.begins and not client.wait(lambda: client.settings_acks and client.settings):
            if not client.settings_acks:
                return "failed", "no SETTINGS and acknowledgement: " + case.describe(client)
        try:
            expected = each.run(client)
        except NotImplementedError as reason:
            return "skipped", str(reason)
        except AssertionError as fault:
            return "failed", f"{fault}: {case.describe(client)}"
        other = deviations.DEVIATIONS.get(each.title)
        deviates = other is not None and other[0].check(client) is None
        if deviates:
            client.patience = 0  # all answers have arrived already
        fault = expected.check(client)
        if client.fault:
            return "failed", "the server breaks the protocol: " + client.fault
        if fault is None:
            return ("passed", None) if other is None else ("failed", "listed as a deviation, but passes")
        told = f"expected {expected}: {fault}; came: {case.describe(client)}"
        if deviates:
            return "deviates", f"{other[0]}, not {expected}: {other[1]}"
        return "failed", told


def run_all(address, only=""):
    """Runs the cases whose title contains `only`. Returns the number of cases per outcome."""
    counts = dict.fromkeys(("passed", "deviates", "skipped", "failed"), 0)
    for each in case.CASES:
        if only not in each.title:
            continue
        outcome, why = run_one(each, address)
        if outcome == "failed":  # checks that the server still serves
            try:
                with case.Connection(address) as client:
                    if not client.ping():
                        why += "; the server answers no new connection"
            except OSError as fault:
                why += f"; the server is gone: {fault}"
        counts[outcome] += 1
        if why:
            print(f"{outcome:9}{each.title}\n         {why}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()) + f" of {sum(counts.values())} cases")
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", nargs="?")
    parser.add_argument("--only", default="", metavar="TEXT", help="run the cases whose title has TEXT")
    parser.add_argument("--path", default=case.Connection.PATH)
    parser.add_argument("--watch", default=case.Connection.WATCH)
    parser.add_argument("--list", action="store_true", help="print the cases and end")
    options = parser.parse_args()
    if options.list:
        for each in case.CASES:
            print(each.title)
        return 0
    if not options.address:
        parser.error("an address is needed")
    case.Connection.PATH, case.Connection.WATCH = options.path, options.watch
    return 1 if run_all(options.address, options.only)["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
