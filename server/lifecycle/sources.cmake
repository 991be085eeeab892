# SPDX-License-Identifier: Apache-2.0
# From the start to the end of the process.
list(APPEND server_sources
  lifecycle/address_space.cc
  lifecycle/compute_probe.cc
  lifecycle/crash_stack.cc
  lifecycle/drain.cc
  lifecycle/end_process.cc
  lifecycle/memory_shares.cc
  lifecycle/resolve.cc
  lifecycle/standard_files.cc)
