// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_E2E_TESTING_GENERIC_CALL_H_
#define VITRINE_TESTS_E2E_TESTING_GENERIC_CALL_H_

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace vitrine::testing {

// Result of a call.
struct CallEnd {
  bool message = false;  // true: at least one message was received; the client then cancelled the call
  grpc::Status status;   // status of a call without a received message
};

// Calls "/package.Service/Method" with one message, without a stub. Works for unary and streaming methods.
CallEnd CallGeneric(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                    const google::protobuf::Message& request, const std::string& token = "",
                    absl::Duration timeout = absl::Seconds(20));

// Returns a request of "/package.Service/Method" with `model` in the field for a model's name. The message type must be
// linked into this program.
std::unique_ptr<google::protobuf::Message> RequestOf(const std::string& method, const std::string& model);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_E2E_TESTING_GENERIC_CALL_H_
