// SPDX-License-Identifier: Apache-2.0
// Waits until a server's health service reports SERVING, then prints the time of the steady clock in seconds.
//
//   bench_await_serving PORT-FILE [SERVICE...]
//
// Start this program before the server: PORT-FILE need not exist yet.
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace vitrine {
namespace {

constexpr auto kPause = std::chrono::microseconds(500);
constexpr auto kPatience = std::chrono::seconds(30);

using SteadyTime = std::chrono::steady_clock::time_point;

// Returns the address in a line "grpc=host:port"; empty if there is none yet.
std::string AddressIn(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("grpc=")) return line.substr(5);
  }
  return {};
}

// Calls grpc.health.v1.Health/Check in protobuf's wire format: field 1 of the request is the service's name, field 1 of
// the response is 1 for SERVING.
bool IsServing(grpc::GenericStub& stub, const std::string& service) {
  std::string bytes;
  if (!service.empty()) bytes = std::string("\x0a") + static_cast<char>(service.size()) + service;
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
  grpc::CompletionQueue queue;
  grpc::ByteBuffer response;
  grpc::Status status;
  const auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  std::vector<grpc::Slice> slices;
  if (!status.ok() || !response.Dump(&slices).ok()) return false;
  std::string answer;
  for (const grpc::Slice& part : slices) answer.append(reinterpret_cast<const char*>(part.begin()), part.size());
  return answer == std::string("\x08\x01");
}

bool Wait(const std::string& port_file, const std::vector<std::string>& services) {
  const SteadyTime end = std::chrono::steady_clock::now() + kPatience;
  const auto late = [end] { return std::chrono::steady_clock::now() > end; };
  std::string address;
  while ((address = AddressIn(port_file)).empty()) {
    if (late()) return false;
    std::this_thread::sleep_for(kPause);
  }
  grpc::GenericStub stub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  for (const std::string& service : services) {
    while (!IsServing(stub, service)) {
      if (late()) return false;
      std::this_thread::sleep_for(kPause);
    }
  }
  return true;
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: bench_await_serving PORT-FILE [SERVICE...]\n", stderr);
    return 2;
  }
  std::vector<std::string> services(argv + 2, argv + argc);
  services.insert(services.begin(), "");
  if (!vitrine::Wait(argv[1], services)) {
    std::fputs("bench_await_serving: not SERVING within 30 s\n", stderr);
    return 1;
  }
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  std::printf("%.6f\n", now.count());
  return 0;
}
