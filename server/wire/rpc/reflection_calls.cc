// SPDX-License-Identifier: Apache-2.0
// Calls of the standard reflection service, v1 and v1alpha.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "grpc/reflection/v1/reflection.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "server/wire/rpc/grpc_status.h"
#include "server/wire/rpc/grpc_wire.h"
#include "server/wire/rpc/stream_call.h"

namespace vitrine {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

// Adds the file and its imports, each once.
template <typename Files>
void AddFile(const FileDescriptor* file, std::set<const FileDescriptor*>& seen, Files& files) {
  if (!seen.insert(file).second) return;
  google::protobuf::FileDescriptorProto text;
  file->CopyTo(&text);
  files.add_file_descriptor_proto(text.SerializeAsString());
  for (int i = 0; i < file->dependency_count(); ++i) AddFile(file->dependency(i), seen, files);
}

template <typename Response>
void Fill(const FileDescriptor* file, const char* missing, Response& response) {
  if (file != nullptr) {
    std::set<const FileDescriptor*> seen;
    return AddFile(file, seen, *response.mutable_file_descriptor_response());
  }
  response.mutable_error_response()->set_error_code(static_cast<int>(absl::StatusCode::kNotFound));
  response.mutable_error_response()->set_error_message(missing);
}

const FileDescriptor* FileOfExtension(const DescriptorPool& pool, const std::string& type, int number) {
  const google::protobuf::Descriptor* const extended = pool.FindMessageTypeByName(type);
  if (extended == nullptr) return nullptr;
  const FieldDescriptor* const field = pool.FindExtensionByNumber(extended, number);
  return field == nullptr ? nullptr : field->file();
}

template <typename Response>
void FillExtensionNumbers(const DescriptorPool& pool, const std::string& type, Response& response) {
  const google::protobuf::Descriptor* const extended = pool.FindMessageTypeByName(type);
  if (extended == nullptr) return Fill(nullptr, "Type not found.", response);
  std::vector<const FieldDescriptor*> fields;
  pool.FindAllExtensions(extended, &fields);
  auto& numbers = *response.mutable_all_extension_numbers_response();
  numbers.set_base_type_name(type);
  for (const FieldDescriptor* const field : fields) numbers.add_extension_number(field->number());
}

template <typename Request, typename Response>
Response Reflect(const std::vector<std::string>& services, const Request& request) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  Response response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case Request::kFileByFilename:
      Fill(pool.FindFileByName(request.file_by_filename()), "File not found.", response);
      break;
    case Request::kFileContainingSymbol:
      Fill(pool.FindFileContainingSymbol(request.file_containing_symbol()), "Symbol not found.", response);
      break;
    case Request::kFileContainingExtension:
      Fill(FileOfExtension(pool, request.file_containing_extension().containing_type(),
                           request.file_containing_extension().extension_number()),
           "Extension not found.", response);
      break;
    case Request::kAllExtensionNumbersOfType:
      FillExtensionNumbers(pool, request.all_extension_numbers_of_type(), response);
      break;
    case Request::kListServices:
      for (const std::string& service : services) {
        response.mutable_list_services_response()->add_service()->set_name(service);
      }
      break;
    default:
      response.mutable_error_response()->set_error_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
      response.mutable_error_response()->set_error_message("the request is empty");
  }
  return response;
}

template <typename Request, typename Response>
class ReflectionCall final : public StreamCall {
 public:
  ReflectionCall(CallParts& parts, GrpcOpening opening)
      : StreamCall(parts, std::nullopt, std::move(opening), kMaxPlainMessageBytes, Order::kAsReceived) {}

 private:
  void Submit(std::shared_ptr<InFlight> read, absl::StatusOr<MessageBytes> message) override {
    const absl::Status taken = RunOn(parts_.workers, network(), [this, read, message = std::move(message)] {
      Request request;
      const absl::Status parsed = message.ok() ? ParseMessage(**message, request) : message.status();
      if (!parsed.ok()) Fault(parsed);
      Answer(read, GrpcFrame(Reflect<Request, Response>(server().services(), request)));
    });
    if (taken.ok()) return;
    Fault(taken);
    Answer(read, GrpcFrame(Response()));
  }
};

}  // namespace

void AddReflectionCalls(GrpcServer& server, CallParts& parts) {
  using V1 =
      ReflectionCall<grpc::reflection::v1::ServerReflectionRequest, grpc::reflection::v1::ServerReflectionResponse>;
  using V1Alpha = ReflectionCall<grpc::reflection::v1alpha::ServerReflectionRequest,
                                 grpc::reflection::v1alpha::ServerReflectionResponse>;
  AddStreamCall<V1>(server, parts, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo");
  AddStreamCall<V1Alpha>(server, parts, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
}

}  // namespace vitrine
