// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_E2E_TESTING_STANDARD_CALL_H_
#define VITRINE_TESTS_E2E_TESTING_STANDARD_CALL_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

namespace vitrine::testing {

// A streaming call of a method without a generated stub. Not thread-safe.
template <typename Request, typename Response>
class StandardCall {
 public:
  StandardCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method) : stub_(channel) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    call_ = stub_.PrepareCall(&context_, method, &queue_);
    call_->StartCall(this);
    Await();
  }
  ~StandardCall() {
    context_.TryCancel();
    if (!finished_) Finish();
    queue_.Shutdown();
  }

  bool Write(const Request& request) {
    call_->Write(request, this);
    return Await();
  }
  bool WritesDone() {
    call_->WritesDone(this);
    return Await();
  }
  // Returns false at the end of the stream.
  bool Read(Response* response) {
    call_->Read(response, this);
    return Await();
  }
  grpc::Status Finish() {
    grpc::Status status;
    call_->Finish(&status, this);
    Await();
    finished_ = true;
    return status;
  }

 private:
  bool Await() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::TemplatedGenericStub<Request, Response> stub_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<Request, Response>> call_;
  bool finished_ = false;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_E2E_TESTING_STANDARD_CALL_H_
