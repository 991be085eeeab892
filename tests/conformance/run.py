#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of RFC 9113 and RFC 7541 against an HTTP/2 server without TLS.

    run.py HOST:PORT [--only TEXT] [--junit FILE] [--list]

HOST:PORT may be unix:///PATH. The target should serve gRPC's health service; --path and --watch name other methods.
Exit code: 0 if no case failed. A case that behaves as deviations.py says counts as "deviates", not as failed."""

import argparse
import sys
import time
import xml.etree.ElementTree

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
            return "passed", None
        told = f"expected {expected}: {fault}; came: {case.describe(client)}"
        if deviates:
            return "deviates", f"{other[0]}, not {expected}: {other[1]}"
        return "failed", told


def run_all(address, only="", junit=None, say=print):
    """Runs the cases whose title contains `only`. Returns the number of cases per outcome."""
    counts = dict.fromkeys(("passed", "deviates", "skipped", "failed"), 0)
    suite = xml.etree.ElementTree.Element("testsuite", name="conformance")
    for each in case.CASES:
        if only not in each.title:
            continue
        begun = time.monotonic()
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
            say(f"{outcome:9}{each.title}\n         {why}")
        element = xml.etree.ElementTree.SubElement(suite, "testcase", classname="rfc" + each.section, name=each.name, time=f"{time.monotonic() - begun:.3f}")
        if outcome in ("failed", "skipped"):
            xml.etree.ElementTree.SubElement(element, "failure" if outcome == "failed" else "skipped", message=why)
    suite.set("tests", str(sum(counts.values())))
    suite.set("failures", str(counts["failed"]))
    suite.set("skipped", str(counts["skipped"]))
    if junit:
        xml.etree.ElementTree.ElementTree(suite).write(junit, "utf-8", True)
    say(", ".join(f"{count} {outcome}" for outcome, count in counts.items()) + f" of {sum(counts.values())} cases")
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", nargs="?")
    parser.add_argument("--only", default="", metavar="TEXT", help="run the cases whose title has TEXT")
    parser.add_argument("--junit", metavar="FILE")
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
    return 1 if run_all(options.address, options.only, options.junit)["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
