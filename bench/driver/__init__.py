"""Drives the programs of bench/ and writes what they measured. Run by script/bench."""
