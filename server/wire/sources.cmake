# SPDX-License-Identifier: Apache-2.0
# The listeners for clients, with all their services.
list(APPEND server_sources
  wire/http_port.cc
  wire/rpc_front.cc)
