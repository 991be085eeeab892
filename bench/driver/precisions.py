# SPDX-License-Identifier: Apache-2.0
"""Finds the precisions in which this CPU multiplies fast."""
from driver.report import Row, instruction_sets

# CPU flags by precision. A CPU with any of the flags multiplies in that precision with 512-bit vectors or tiles.
WIDE = {"bf16": {"avx512_bf16", "amx_tile"}, "int8": {"avx512_vnni", "amx_tile"}}


def has_any(instructions):
    return bool(instructions.intersection(instruction_sets()))


def wide(precision):
    return precision == "fp32" or has_any(WIDE[precision])


def multiplied(precision):
    """Returns True if the engine's fastest code path on this CPU multiplies in the precision. For int8, a CPU without AVX-512
    needs AVX2, and a CPU with AVX-512 needs AVX512_VNNI or AMX."""
    return wide(precision) or (precision == "int8" and has_any({"avx2"}) and not has_any({"avx512f"}))


def left_out(what, precision):
    """Returns the row of a case that is left out, because this CPU does not multiply fast in the precision."""
    return Row(f"{what}, {precision}", note=f"LEFT OUT: this CPU has none of {', '.join(sorted(WIDE[precision]))}")
