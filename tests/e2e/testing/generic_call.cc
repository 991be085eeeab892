// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/testing/generic_call.h"

#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <chrono>

namespace vitrine::testing {

CallEnd CallGeneric(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                    const google::protobuf::Message& request, const std::string& token, absl::Duration timeout) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
  if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
  const auto call = stub.PrepareCall(&context, method, &queue);
  const auto await = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  CallEnd end;
  const grpc::Slice slice(request.SerializeAsString());
  call->StartCall(&queue);
  if (await()) {
    call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), &queue);
    await();
    grpc::ByteBuffer answer;
    call->Read(&answer, &queue);
    end.message = await();
    if (end.message) context.TryCancel();
  }
  call->Finish(&end.status, &queue);
  await();
  queue.Shutdown();
  return end;
}

std::unique_ptr<google::protobuf::Message> RequestOf(const std::string& method, const std::string& model) {
  std::string name = method.substr(1);
  name[name.rfind('/')] = '.';
  const google::protobuf::MethodDescriptor* const found =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
  if (found == nullptr) {
    ADD_FAILURE() << name << " is in no descriptor of this program";
    return nullptr;
  }
  std::unique_ptr<google::protobuf::Message> request(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(found->input_type())->New());
  for (const char* field_name : {"model", "model_name", "name"}) {
    const google::protobuf::FieldDescriptor* const field = found->input_type()->FindFieldByName(field_name);
    if (field == nullptr || field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_STRING) continue;
    request->GetReflection()->SetString(request.get(), field, model);
    break;
  }
  return request;
}

}  // namespace vitrine::testing
