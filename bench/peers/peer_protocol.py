# SPDX-License-Identifier: Apache-2.0
"""The protocol of bench/work.h for workers in Python."""
import sys
import time


def serve(count, description, work, results=lambda: ()):
    """Serves the protocol until the end of the input. work() is timed; results() returns the rows that work() computes."""
    print("ready", count, description, flush=True)
    for line in sys.stdin:
        command = line.split()
        if command[0] == "run":
            start = time.perf_counter()
            for _ in range(int(command[1])):
                work()
            print(f"{time.perf_counter() - start:.9f}", flush=True)
        else:
            for row in results():
                print(*(f"{value:.9g}" for value in row))
            print(flush=True)
