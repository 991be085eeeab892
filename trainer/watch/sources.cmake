# How a run is watched.
find_package(civetweb CONFIG REQUIRED)
set(event_proto trainer/watch/tensorboard_event)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/gen/${event_proto}.pb.cc ${CMAKE_BINARY_DIR}/gen/${event_proto}.pb.h
  COMMAND protobuf::protoc --cpp_out=${CMAKE_BINARY_DIR}/gen -I${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/${event_proto}.proto
  DEPENDS ${CMAKE_SOURCE_DIR}/${event_proto}.proto)
set(watch_sources
  ${CMAKE_BINARY_DIR}/gen/${event_proto}.pb.cc
  watch/append_file.cc
  watch/event_file.cc
  watch/event_record.cc
  watch/history.cc
  watch/history_writer.cc
  watch/metrics_endpoint.cc
  watch/progress_bar.cc
  watch/training_metrics.cc)
set(watch_libraries civetweb::civetweb-cpp prometheus-cpp::core PkgConfig::ISAL)
