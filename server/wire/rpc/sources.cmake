# SPDX-License-Identifier: Apache-2.0
# From the socket to a parsed message and back.
list(APPEND server_sources
  wire/rpc/admin_front.cc
  wire/rpc/call_origin.cc
  wire/rpc/call_queue.cc
  wire/rpc/classify_call.cc
  wire/rpc/classify_stream_call.cc
  wire/rpc/grpc_status.cc
  wire/rpc/health.cc
  wire/rpc/health_calls.cc
  wire/rpc/listener.cc
  wire/rpc/open_connections.cc
  wire/rpc/outline.cc
  wire/rpc/registry_calls.cc
  wire/rpc/served_port.cc
  wire/rpc/stream_call.cc
  wire/rpc/wire.cc)
