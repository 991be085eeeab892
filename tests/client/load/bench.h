// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_CLIENT_LOAD_BENCH_H_
#define VITRINE_TESTS_CLIENT_LOAD_BENCH_H_

#include <functional>
#include <sstream>
#include <string>

#include "client/load/bench_command.h"
#include "tests/client/lib/small_server.h"

namespace vitrine {

struct Outcome {
  absl::StatusOr<BenchOutcome> measured;
  std::string out, errors;
};

inline Outcome Bench(
    const BenchCommand& command, const std::function<bool()>& stopped = [] { return false; }) {
  std::ostringstream out, errors;
  auto measured = RunBench(command, out, errors, false, stopped);
  return {std::move(measured), out.str(), errors.str()};
}

// Returns a command for a short closed loop.
inline BenchCommand For(const SmallServer& server, const std::string& model) {
  BenchCommand command;
  command.client.address = server.address();
  command.client.connect_timeout = absl::Seconds(5);
  command.request.model.name = model;
  command.connections = 2;
  command.warm_up = absl::Milliseconds(50);
  command.duration = absl::Milliseconds(400);
  return command;
}

// Returns a command for a run of 50 ms with small images and a report in JSON.
inline BenchCommand Short(const SmallServer& server) {
  BenchCommand command = For(server, "m");
  command.client.deadline = absl::Seconds(5);
  command.workload.bytes = 100;
  command.warm_up = absl::ZeroDuration();
  command.duration = absl::Milliseconds(50);
  command.format = Format::kJson;
  return command;
}

// Answers a request. The model "none" does not exist, and the queue of the model "busy" is full.
inline grpc::Status Classify(const v1::ClassifyRequest& request, v1::ClassifyResponse* response, grpc::ServerContext*) {
  if (request.model() == "none") return {grpc::StatusCode::NOT_FOUND, "no model \"none\" is ready"};
  if (request.model() == "busy") return WithRetryInfo(grpc::StatusCode::RESOURCE_EXHAUSTED, "full", absl::Seconds(1));
  response->add_predictions()->set_probability(1);
  response->mutable_timings()->set_total(0.001F);
  return grpc::Status::OK;
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_LOAD_BENCH_H_
