// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_E2E_RUNNING_SERVER_H_
#define VITRINE_TESTS_E2E_RUNNING_SERVER_H_

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

// Options of a server for one test: free ports on the loopback, short polls, errors only in the log.
ServerOptions TestOptions(const std::filesystem::path& repository);

// A real server in this process, ready to serve, and clients of it over real connections.
class RunningServer {
 public:
  // The test fails if the server does not get ready.
  explicit RunningServer(const ServerOptions& options);
  explicit RunningServer(const std::filesystem::path& repository) : RunningServer(TestOptions(repository)) {}

  Server& server() { return *server_; }
  v1::Classifier::Stub& classifier() { return *classifier_; }
  v1::Registry::Stub& registry() { return *registry_; }
  // A connection of its own.
  std::shared_ptr<grpc::Channel> NewChannel() const;
  std::shared_ptr<grpc::Channel> channel() const { return channel_; }

  // One call on the shared connection.
  grpc::Status Classify(const v1::ClassifyRequest& request, v1::ClassifyResponse* response,
                        absl::Duration timeout = absl::Minutes(2));

  // GET of the HTTP page; the whole answer, head included.
  std::string Get(const std::string& path) const;
  // The value of a metric whose line begins with `prefix` (name and labels); 0 where there is none.
  double Metric(const std::string& prefix) const;

 private:
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Classifier::Stub> classifier_;
  std::unique_ptr<v1::Registry::Stub> registry_;
};

// Sends bytes to host:port and reads until the other side closes.
std::string HttpExchange(const std::string& address, const std::string& bytes);

// Asks again and again until `holds`, for a state that another thread reaches by itself. False after the timeout.
bool Eventually(const std::function<bool()>& holds, absl::Duration timeout = absl::Seconds(30));

v1::ClassifyRequest PictureRequest(const std::string& model, const std::string& picture);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_E2E_RUNNING_SERVER_H_
