# SPDX-License-Identifier: Apache-2.0
# Tests of the gRPC protocol and its calls, with fake streams.
vitrine_test(server_rpc_test
  SOURCES wire/rpc/grpc_call_test.cc wire/rpc/grpc_status_test.cc wire/rpc/grpc_wire_test.cc
          wire/rpc/served_calls_test.cc wire/rpc/describing_calls_test.cc wire/rpc/grpc_deadline_test.cc
          wire/rpc/stream_call_test.cc
  ROOMS server LIBRARIES small_models base_gunzip base_gzip SANITIZE asan)
