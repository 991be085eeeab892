# SPDX-License-Identifier: Apache-2.0
# Observers of a run.
set(event_proto trainer/watch/tensorboard_event)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/gen/${event_proto}.pb.cc ${CMAKE_BINARY_DIR}/gen/${event_proto}.pb.h
  COMMAND protobuf::protoc --cpp_out=${CMAKE_BINARY_DIR}/gen -I${CMAKE_SOURCE_DIR}
  ${CMAKE_SOURCE_DIR}/${event_proto}.proto
  DEPENDS ${CMAKE_SOURCE_DIR}/${event_proto}.proto)
set(watch_sources
  ${CMAKE_BINARY_DIR}/gen/${event_proto}.pb.cc
  watch/append_file.cc
  watch/event_file.cc
  watch/event_record.cc
  watch/report/examine.cc
  watch/history.cc
  watch/history_writer.cc
  watch/report/look.cc
  watch/metrics_endpoint.cc
  watch/progress_bar.cc
  watch/report/report_answers.cc
  watch/report/report_attention.cc
  watch/report/report_curves.cc
  watch/report/report_provenance.cc
  watch/training_metrics.cc
  watch/report/training_report.cc)
set(watch_libraries base_http prometheus-cpp::core PkgConfig::ISAL)
