// SPDX-License-Identifier: Apache-2.0
// A gRPC server that answers every Classify at once with an empty response, and every ClassifyStream with one empty
// response after its last request, to measure the cost of gRPC's library.
//
//   bench_null_server [--listen 127.0.0.1:0] [--threads 1]
//
// Prints "listening on HOST:PORT". Ends on SIGTERM or SIGINT.
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <pthread.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <deque>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "vitrine/v1/classifier.grpc.pb.h"

namespace vitrine {
namespace {

// A ClassifyStream. Its requests are dropped.
class NullStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  NullStream() { StartRead(&request_); }

 private:
  void OnReadDone(bool ok) override {
    if (ok) return StartRead(&request_);
    StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
  }
  void OnDone() override { delete this; }

  const grpc::Slice nothing_;
  const grpc::ByteBuffer answer_{&nothing_, 1};
  grpc::ByteBuffer request_;
};

class RawClassifier : public v1::Classifier::WithRawMethod_Classify<
                          v1::Classifier::WithRawCallbackMethod_ClassifyStream<v1::Classifier::Service>> {
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ClassifyStream(grpc::CallbackServerContext*) override {
    return new NullStream;
  }
};

// Number of calls that are requested in advance on each queue.
constexpr int kPosted = 256;

// A call. After the call has ended, the object requests the next call from the queue.
class NullCall {
 public:
  NullCall(RawClassifier& service, grpc::ServerCompletionQueue& queue) : service_(service), queue_(queue) { Post(); }

  void Proceed(bool ok) {
    if (!answering_) {
      if (!ok) return;  // the server is shutting down
      answering_ = true;
      writer_->Finish(answer_, grpc::Status::OK, this);
      return;
    }
    answering_ = false;
    request_.Clear();
    Post();
  }

 private:
  void Post() {
    writer_.reset();
    context_ = std::make_unique<grpc::ServerContext>();
    writer_ = std::make_unique<grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>>(context_.get());
    service_.RequestClassify(context_.get(), &request_, writer_.get(), &queue_, &queue_, this);
  }

  RawClassifier& service_;
  grpc::ServerCompletionQueue& queue_;
  const grpc::Slice nothing_;
  const grpc::ByteBuffer answer_{&nothing_, 1};
  grpc::ByteBuffer request_;
  std::unique_ptr<grpc::ServerContext> context_;
  std::unique_ptr<grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>> writer_;
  bool answering_ = false;
};

void Answer(grpc::ServerCompletionQueue& queue) {
  void* tag = nullptr;
  for (bool ok = false; queue.Next(&tag, &ok);) static_cast<NullCall*>(tag)->Proceed(ok);
}

int Main(int argc, char** argv) {
  std::string listen = "127.0.0.1:0";
  int threads = 1;
  CLI::App app("Answers Classify with nothing.", "bench_null_server");
  app.add_option("--listen", listen, "host:port; port 0 picks a free one")->capture_default_str();
  app.add_option("--threads", threads, "threads")->check(CLI::Range(1, 64))->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  sigset_t ends;  // sigwait below takes these signals; all threads block them
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  RawClassifier service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(&service);
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues;
  for (int i = 0; i < threads; ++i) queues.push_back(builder.AddCompletionQueue());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::cerr << "bench_null_server: cannot listen on " << listen << "\n";
    return 1;
  }
  std::cout << "listening on " << listen.substr(0, listen.rfind(':')) << ":" << port << std::endl;
  std::deque<NullCall> calls;
  std::vector<std::thread> workers;
  for (const auto& queue : queues) {
    for (int i = 0; i < kPosted; ++i) calls.emplace_back(service, *queue);
    workers.emplace_back([&queue = *queue] { Answer(queue); });
  }
  int signal = 0;
  sigwait(&ends, &signal);
  server->Shutdown(std::chrono::system_clock::now());
  // Exits at once, because during a normal shutdown a call that ends could request the next call, which gRPC forbids.
  std::cout.flush();
  _exit(0);
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}
