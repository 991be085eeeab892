# SPDX-License-Identifier: Apache-2.0
# The listener that callers meet, with all its services.
list(APPEND server_sources
  wire/rpc_front.cc)
