# SPDX-License-Identifier: Apache-2.0
# Services of the process: clocks, child processes, memory limits, signals and exit, settings files, rejections because
# of load.
list(APPEND server_sources
  process/address_space.cc
  process/child_process.cc
  process/clock.cc
  process/crash_stack.cc
  process/end_process.cc
  process/model_import.cc
  process/service_manager.cc
  process/shed.cc
  process/standard_files.cc
  process/text_file.cc
  process/ticker.cc)
