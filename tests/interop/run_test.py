#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the verdict and the page of run.py."""

import unittest

import run

PASSED = {"empty_unary": ("ok", "")}


class RunTest(unittest.TestCase):
    def test_strict_needs_the_required_clients(self):
        required = {name: PASSED for name in run.REQUIRED}
        self.assertEqual(run.exit_code(required, 0, strict=True), 0)  # Go and Java may be absent
        for absent in run.REQUIRED:
            others = {name: each for name, each in required.items() if name != absent}
            self.assertEqual(run.exit_code(others, 0, strict=True), 1, absent)
            self.assertEqual(run.exit_code(others, 0, strict=False), 0, absent)
        self.assertEqual(run.exit_code({}, 0, strict=True), 1)
        self.assertEqual(run.exit_code({}, 0, strict=False), 77)

    def test_a_failed_case_or_server_fails(self):
        self.assertEqual(run.exit_code({"grpc-go": {"empty_unary": ("failed", "no answer")}}, 0, strict=False), 1)
        self.assertEqual(run.exit_code({"grpc-go": PASSED}, 2, strict=False), 1)

    def test_page_gives_each_outcome_with_its_reason(self):
        table = {"gRPC C++": PASSED, "grpclib": {"empty_unary": ("none", "a | b")}}
        page = run.page("COMMAND", {"gRPC C++": "gRPC 1.51.1", "grpc-go": "not available"}, table)
        self.assertIn("| case | gRPC C++ | grpclib |\n|---|---|---|\n| empty_unary | pass | none: a \\| b |\n", page)
        for line in ("COMMAND", "- gRPC C++: gRPC 1.51.1", "- grpc-go: not available", "- revision: "):
            self.assertIn(line, page)
        self.assertIn("\n- `rpc_soak`, `channel_soak`: ", page)


if __name__ == "__main__":
    unittest.main()
