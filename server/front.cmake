# The outer half: from the wire to a planned request and back, and the life of the server.
find_package(civetweb CONFIG REQUIRED)
set(server_front_sources
  attention_encoding.cc
  authorization.cc
  call_queue.cc
  classify_call.cc
  classify_service.cc
  grpc_status.cc
  health.cc
  health_calls.cc
  http_endpoint.cc
  listener.cc
  number_encoding.cc
  options.cc
  plan_attention.cc
  plan_request.cc
  registry_calls.cc
  response.cc
  rpc_front.cc
  server.cc
  stream_call.cc
  wire.cc)
set(server_front_libraries
  vitrine_services CLI11::CLI11 civetweb::civetweb-cpp prometheus-cpp::core
  gRPC::grpc++_reflection absl::flat_hash_set absl::function_ref)
set_source_files_properties(server.cc PROPERTIES COMPILE_DEFINITIONS VITRINE_VERSION="${PROJECT_VERSION}")
