# SPDX-License-Identifier: Apache-2.0
# What the rest stands on: clocks, memory and its want, signals and the end, files that people write, refusals for load.
list(APPEND server_sources
  process/address_space.cc
  process/clock.cc
  process/crash_stack.cc
  process/end_process.cc
  process/out_of_memory.cc
  process/shed.cc
  process/standard_files.cc
  process/text_file.cc
  process/ticker.cc)
