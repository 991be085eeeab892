// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_E2E_TESTING_RUNNING_SERVER_H_
#define VITRINE_TESTS_E2E_TESTING_RUNNING_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "server/server.h"
#include "vitrine/v1/classifier.grpc.pb.h"
#include "vitrine/v1/registry.grpc.pb.h"

namespace vitrine::testing {

// Returns options for a test's server: free ports on the loopback interface, short polls, log level error.
ServerOptions TestOptions(const std::filesystem::path& repository);

// A server in this process that is ready, and clients on real connections.
class RunningServer {
 public:
  // Fails the test if the server does not become ready.
  explicit RunningServer(const ServerOptions& options);
  explicit RunningServer(const std::filesystem::path& repository) : RunningServer(TestOptions(repository)) {}

  Server& server() { return *server_; }
  v1::Classifier::Stub& classifier() { return *classifier_; }
  v1::Registry::Stub& registry() { return *registry_; }
  // Returns a new connection.
  std::shared_ptr<grpc::Channel> NewChannel() const;
  std::shared_ptr<grpc::Channel> channel() const { return channel_; }

  // Makes one call on the shared connection.
  grpc::Status Classify(const v1::ClassifyRequest& request, v1::ClassifyResponse* response,
                        absl::Duration timeout = absl::Minutes(2));

  // Sends a GET to the metrics port. Returns the whole response, with its head.
  std::string Get(const std::string& path) const;
  // Returns the sum of the metrics whose lines begin with `prefix` (a name with labels), or 0 if there is none.
  double Metric(const std::string& prefix) const;

 private:
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Classifier::Stub> classifier_;
  std::unique_ptr<v1::Registry::Stub> registry_;
};

// Sends bytes to host:port. Returns everything received until the other side closes.
std::string HttpExchange(const std::string& address, const std::string& bytes);

// Polls `holds` until it is true, to wait for another thread. Returns false after the timeout.
bool Eventually(const std::function<bool()>& holds, absl::Duration timeout = absl::Seconds(30));

v1::ClassifyRequest ImageRequest(const std::string& model, const std::string& image);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_E2E_TESTING_RUNNING_SERVER_H_
