# What the process may use of the machine.
list(APPEND server_sources
  machine/control_group.cc
  machine/core_list.cc
  machine/machine.cc
  machine/memory_shares.cc)
