# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of bench/ and writes their measurements. script/bench starts this package."""
