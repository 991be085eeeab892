// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of loads on a real gRPC server in this process. The server counts its requests.
#ifndef VITRINE_TESTS_CLIENT_LOAD_COUNTED_LOAD_H_
#define VITRINE_TESTS_CLIENT_LOAD_COUNTED_LOAD_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/load/load.h"
#include "tests/client/lib/small_server.h"

namespace vitrine {

// A server that counts its requests by model.
class CountingServer {
 public:
  explicit CountingServer(std::function<grpc::Status(const v1::ClassifyRequest&, grpc::ServerContext*)> behaviour = {},
                          const std::string& listen = "127.0.0.1:0")
      : server_({.classify =
                     [this, behaviour](const v1::ClassifyRequest& request, v1::ClassifyResponse* response,
                                       grpc::ServerContext* context) {
                       {
                         const std::lock_guard lock(mutex_);
                         ++seen_[request.model()];
                         order_ += request.model();
                       }
                       response->add_predictions()->set_probability(1);
                       response->mutable_timings()->set_total(0.001F);
                       response->mutable_batch()->set_images(2);
                       return behaviour ? behaviour(request, context) : grpc::Status::OK;
                     }},
                64 << 20, nullptr, listen) {}

  LoadConnections Connect(int count) const {
    ClientOptions options;
    options.address = server_.address();
    auto connections = OpenConnections(options, count);
    EXPECT_TRUE(connections.ok()) << connections.status();
    return *std::move(connections);
  }
  std::map<std::string, uint64_t> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::string order() {
    const std::lock_guard lock(mutex_);
    return order_;
  }
  SmallServer& server() { return server_; }

 private:
  std::mutex mutex_;
  std::map<std::string, uint64_t> seen_;
  std::string order_;
  SmallServer server_;
};

inline Workload Models(const std::vector<std::string>& models, absl::Duration deadline = absl::Seconds(30)) {
  std::vector<RequestClass> classes;
  for (const std::string& model : models) {
    RequestClass one;
    one.model.name = model;
    one.deadline = deadline;
    classes.push_back(one);
  }
  WorkloadOptions options;
  options.bytes = 100;
  return *PrepareWorkload(classes, options);
}

inline LoadSettings OpenLoop(double rate, absl::Duration duration) {
  LoadSettings settings;
  settings.arrivals = [rate] { return ArrivalsAtRate(ArrivalProcess::kPoisson, rate, 1); };
  settings.warm_up = absl::Milliseconds(100);
  settings.duration = duration;
  return settings;
}

// A handler that never answers.
inline grpc::Status NeverAnswer(const v1::ClassifyRequest&, grpc::ServerContext* context) {
  while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return grpc::Status::OK;
}

inline void ExpectLedgerCloses(const LoadRecord& record) {
  EXPECT_EQ(record.due(), record.answered() + record.failed() + record.not_sent() + record.unanswered());
  EXPECT_EQ(record.started() + record.not_sent(), record.due());
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_LOAD_COUNTED_LOAD_H_
