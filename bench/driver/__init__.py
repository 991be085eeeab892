# SPDX-License-Identifier: Apache-2.0
"""Drives the programs of bench/ and writes what they measured. Run by script/bench."""
