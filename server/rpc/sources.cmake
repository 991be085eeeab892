# SPDX-License-Identifier: Apache-2.0
# From the socket to a parsed message and back.
list(APPEND server_sources
  rpc/admin_front.cc
  rpc/call_credentials.cc
  rpc/call_queue.cc
  rpc/call_trace.cc
  rpc/classify_call.cc
  rpc/grpc_status.cc
  rpc/health.cc
  rpc/health_calls.cc
  rpc/health_front.cc
  rpc/listener.cc
  rpc/open_connections.cc
  rpc/outline.cc
  rpc/read_request.cc
  rpc/registry_calls.cc
  rpc/rpc_front.cc
  rpc/served_port.cc
  rpc/stream_call.cc
  rpc/stream_origin.cc
  rpc/wire.cc)
