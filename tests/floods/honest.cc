// SPDX-License-Identifier: Apache-2.0
// Runs honest clients during a flood. Each client is a thread that makes one call after another with gRPC's own client.
// Prints the results as one line of JSON.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::string address;
  double seconds = 10;
  std::chrono::milliseconds pause{5};
  std::chrono::milliseconds timeout{5000};
  std::string message;    // serialized ClassifyRequest; empty: Classify is not called
  int classify = 2;       // number of clients that call Classify
  std::string authority;  // the server's certificate in PEM; empty: cleartext
};

// Results of all clients of a kind.
struct Calls {
  std::vector<double> milliseconds;
  int failed = 0;
  std::string first_failure;
  size_t answer_bytes = 0;

  void Add(const Calls& other) {
    milliseconds.insert(milliseconds.end(), other.milliseconds.begin(), other.milliseconds.end());
    failed += other.failed;
    if (first_failure.empty()) first_failure = other.first_failure;
    answer_bytes = std::max(answer_bytes, other.answer_bytes);
  }
  double Quantile(double share) const {
    if (milliseconds.empty()) return 0;
    return milliseconds[std::min(milliseconds.size() - 1, static_cast<size_t>(share * milliseconds.size()))];
  }
};

std::shared_ptr<grpc::Channel> NewChannel(const Settings& settings) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // gives each client a connection of its own
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);             // a rejected call counts as a failure
  arguments.SetMaxReceiveMessageSize(-1);
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!settings.authority.empty()) {
    grpc::SslCredentialsOptions tls;
    std::ifstream file(settings.authority);
    tls.pem_root_certs.assign(std::istreambuf_iterator<char>(file), {});
    credentials = grpc::SslCredentials(tls);
    arguments.SetSslTargetNameOverride("localhost");
  }
  return grpc::CreateCustomChannel(settings.address, credentials, arguments);
}

void CallOnce(const Settings& settings, const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
              const std::string& message, Calls& calls) {
  const auto begun = Clock::now();
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + settings.timeout);
  grpc::CompletionQueue queue;
  const grpc::Slice slice(message);
  const grpc::ByteBuffer request(&slice, 1);
  const auto call = stub.PrepareUnaryCall(&context, method, request, &queue);
  grpc::ByteBuffer response;
  grpc::Status status;
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag;
  bool is_ok;
  queue.Next(&tag, &is_ok);
  calls.milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begun).count());
  if (status.ok()) {
    calls.answer_bytes = std::max(calls.answer_bytes, response.Length());
  } else if (calls.failed++ == 0) {
    calls.first_failure = std::to_string(status.error_code()) + " " + status.error_message().substr(0, 200);
  }
}

std::string AsJson(const std::string& name, Calls& calls) {
  std::sort(calls.milliseconds.begin(), calls.milliseconds.end());
  for (char& letter : calls.first_failure)
    if (letter == '"' || letter == '\\' || static_cast<unsigned char>(letter) < ' ') letter = '\'';
  char text[512];
  std::snprintf(text, sizeof text,
                "\"%s\": {\"calls\": %zu, \"failed\": %d, \"p50_ms\": %.2f, \"p99_ms\": %.2f, \"most_ms\": %.2f, "
                "\"answer_bytes\": %zu, \"first_failure\": \"%s\"}",
                name.c_str(), calls.milliseconds.size(), calls.failed, calls.Quantile(0.5), calls.Quantile(0.99),
                calls.Quantile(1), calls.answer_bytes, calls.first_failure.c_str());
  return text;
}

void Run(const Settings& settings) {
  const std::string check = "/grpc.health.v1.Health/Check", classify = "/vitrine.v1.Classifier/Classify";
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(settings.seconds));
  std::map<std::string, std::vector<std::unique_ptr<Calls>>> results;
  std::vector<std::thread> threads;
  const auto add = [&](const std::string& name, const std::string& method, const std::string& message, bool is_fresh) {
    Calls* calls = results[name].emplace_back(std::make_unique<Calls>()).get();
    threads.emplace_back([&settings, end, calls, method, message, is_fresh] {
      auto channel = NewChannel(settings);
      while (Clock::now() < end) {
        if (is_fresh) channel = NewChannel(settings);
        CallOnce(settings, channel, method, message, *calls);
        std::this_thread::sleep_for(is_fresh ? std::chrono::milliseconds(50) : settings.pause);
      }
    });
  };
  add("check", check, "", false);
  add("check", check, "", false);
  add("fresh", check, "", true);  // this client makes a new connection for each call
  for (int i = 0; !settings.message.empty() && i < settings.classify; ++i)
    add("classify", classify, settings.message, false);
  for (std::thread& thread : threads) thread.join();

  std::string text;
  for (const auto& [name, parts] : results) {
    Calls all;
    for (const auto& part : parts) all.Add(*part);
    text += (text.empty() ? "{" : ", ") + AsJson(name, all);
  }
  std::puts((text + "}").c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (argc < 2 || argc % 2 != 0) {
    std::fputs(
        "Usage: honest HOST:PORT [--seconds S=10] [--pause-ms N=5] [--timeout-ms N=5000] [--message FILE] "
        "[--classify CALLERS=2] [--authority PEM]\nCalls Check, Check over new connections, and Classify with FILE.\n",
        stderr);
    return 2;
  }
  settings.address = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--seconds") settings.seconds = std::atof(value.c_str());
    if (flag == "--pause-ms") settings.pause = std::chrono::milliseconds(std::atoi(value.c_str()));
    if (flag == "--timeout-ms") settings.timeout = std::chrono::milliseconds(std::atoi(value.c_str()));
    if (flag == "--classify") settings.classify = std::atoi(value.c_str());
    if (flag == "--authority") settings.authority = value;
    if (flag == "--message") {
      std::ifstream file(value, std::ios::binary);
      settings.message.assign(std::istreambuf_iterator<char>(file), {});
    }
  }
  Run(settings);
}
