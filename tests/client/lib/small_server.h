// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_CLIENT_LIB_SMALL_SERVER_H_
#define VITRINE_TESTS_CLIENT_LIB_SMALL_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "client/lib/client.h"
#include "vitrine/v1/classifier.grpc.pb.h"
#include "vitrine/v1/registry.grpc.pb.h"

namespace vitrine {

using StreamOfServer = grpc::ServerReaderWriter<v1::ClassifyStreamResponse, v1::ClassifyRequest>;

// A real gRPC server on a free port of this machine. The test defines its methods.
class SmallServer {
 public:
  struct Methods {
    std::function<grpc::Status(const v1::ClassifyRequest&, v1::ClassifyResponse*, grpc::ServerContext*)> classify = {};
    std::function<grpc::Status(StreamOfServer*, grpc::ServerContext*)> stream = {};
    v1::ListModelsResponse models = {};
    std::function<grpc::Status(const v1::WatchModelsRequest&, grpc::ServerWriter<v1::ModelEvent>*,
                               grpc::ServerContext*)>
        watch = {};
    // Health status that Watch reports; without a value the server has no health service.
    std::optional<bool> serving = {};
  };

  // Starts the server. Without `credentials`, the server does not use TLS. `listen` is host:port (port 0 means any free
  // port) or unix:PATH.
  explicit SmallServer(Methods methods, int max_message_bytes = 64 << 20,
                       std::shared_ptr<grpc::ServerCredentials> credentials = nullptr,
                       const std::string& listen = "127.0.0.1:0");
  ~SmallServer();

  const std::string& address() const { return address_; }
  // Ends every call and closes the port.
  void Stop();

 private:
  class ClassifierService;
  class RegistryService;
  class HealthService;

  const Methods methods_;
  std::unique_ptr<ClassifierService> classifier_;
  std::unique_ptr<RegistryService> registry_;
  std::unique_ptr<HealthService> health_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// Returns a host:port for a server that the test stops and restarts. Between stop and restart, the kernel does not give
// the port to another process.
std::string LastingAddress();

// Returns a client of this server with short waits between attempts, so that tests are quick.
std::unique_ptr<Client> ConnectTo(const SmallServer& server, absl::Duration deadline = absl::Seconds(10),
                                  int max_in_flight = 8);

// Returns an answer whose class is the number at the start of the image's text ("7", "7 and more"). This lets a test
// detect an answer to the wrong caller.
v1::ClassifyResponse AnswerTo(const v1::ClassifyRequest& request);
v1::ClassifyStreamResponse StreamAnswerTo(const v1::ClassifyRequest& request);
v1::ClassifyStreamResponse StreamErrorTo(const v1::ClassifyRequest& request, grpc::StatusCode code,
                                         const std::string& message, float retry_after = 0);
v1::ClassifyRequest RequestWith(const std::string& image, const std::string& id = "");

// Returns a status with google.rpc.RetryInfo in its details.
grpc::Status WithRetryInfo(grpc::StatusCode code, const std::string& message, absl::Duration delay);

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_LIB_SMALL_SERVER_H_
