// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/testing/running_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace vitrine::testing {

ServerOptions TestOptions(const std::filesystem::path& repository) {
  ServerOptions options;
  options.repository = repository.string();
  options.rpc.listen = "127.0.0.1:0";
  options.metrics = "127.0.0.1:0";
  options.scrape_period = absl::ZeroDuration();  // makes /metrics for each scrape, because tests expect current values
  options.registry.poll_interval = absl::Milliseconds(50);
  options.drain_deadline = absl::Seconds(10);
  // Other load on the machine must not change admission.
  options.admission.max_predicted_wait = absl::Hours(1);
  return options;
}

RunningServer::RunningServer(const ServerOptions& options) {
  spdlog::set_level(spdlog::level::from_str(options.log_level == "info" ? "error" : options.log_level));
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options);
  if (!server.ok()) {
    ADD_FAILURE() << server.status();
    std::abort();
  }
  server_ = *std::move(server);
  EXPECT_TRUE(server_->WaitUntilReady(absl::Minutes(3))) << "the server did not get ready";
  channel_ = NewChannel();
  classifier_ = v1::Classifier::NewStub(channel_);
  registry_ = v1::Registry::NewStub(channel_);
}

std::shared_ptr<grpc::Channel> RunningServer::NewChannel() const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetUserAgentPrefix("vitrine-test");  // a client of this name accepts responses of any size
  return grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(), arguments);
}

grpc::Status RunningServer::Classify(const v1::ClassifyRequest& request, v1::ClassifyResponse* response,
                                     absl::Duration timeout) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
  return classifier_->Classify(&context, request, response);
}

std::string RunningServer::Get(const std::string& path) const {
  return HttpExchange(server_->metrics_address(),
                      "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
}

double RunningServer::Metric(const std::string& prefix) const {
  std::istringstream lines(Get("/metrics"));
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    double value = 0;
    if (absl::StartsWith(line, prefix) && absl::SimpleAtod(line.substr(line.rfind(' ') + 1), &value)) sum += value;
  }
  return sum;
}

std::string HttpExchange(const std::string& address, const std::string& bytes) {
  const size_t colon = address.rfind(':');
  sockaddr_in where = {};
  where.sin_family = AF_INET;
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(colon + 1), &port));
  where.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &where.sin_addr);
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  const timeval patience = {.tv_sec = 10, .tv_usec = 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  std::string answer;
  if (connect(connection, reinterpret_cast<sockaddr*>(&where), sizeof(where)) == 0) {
    // Ignores an error of send(), because the other side may answer and close before it has read all bytes.
    (void)!send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    char part[4096];
    for (ssize_t got; (got = recv(connection, part, sizeof(part), 0)) > 0;) answer.append(part, got);
  }
  close(connection);
  return answer;
}

bool Eventually(const std::function<bool()>& holds, absl::Duration timeout) {
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(timeout);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

v1::ClassifyRequest ImageRequest(const std::string& model, const std::string& image) {
  v1::ClassifyRequest request;
  request.set_model(model);
  request.set_image(image);
  return request;
}

}  // namespace vitrine::testing
