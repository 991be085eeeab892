# SPDX-License-Identifier: Apache-2.0
# gRPC over HTTP/2: from the bytes of a stream to a parsed message and back.
list(APPEND server_sources
  wire/rpc/admin_front.cc
  wire/rpc/calls.cc
  wire/rpc/classify_calls.cc
  wire/rpc/grpc_call.cc
  wire/rpc/grpc_server.cc
  wire/rpc/grpc_status.cc
  wire/rpc/grpc_wire.cc
  wire/rpc/health.cc
  wire/rpc/health_calls.cc
  wire/rpc/message_reader.cc
  wire/rpc/reflection_calls.cc
  wire/rpc/registry_calls.cc
  wire/rpc/stream_call.cc)
