// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_E2E_GENERIC_CALL_H_
#define VITRINE_TESTS_E2E_GENERIC_CALL_H_

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace vitrine::testing {

// What became of a call.
struct CallEnd {
  bool message = false;  // at least one message came; the call was then ended from here
  grpc::Status status;   // of a call without a message
};

// Calls "/package.Service/Method" of any kind with one message, of which no stub is needed.
CallEnd CallGeneric(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                    const google::protobuf::Message& request, const std::string& token = "",
                    absl::Duration timeout = absl::Seconds(20));

// A request of the method at "/package.Service/Method", linked into this program, with `model` in whatever field holds
// the name of a model.
std::unique_ptr<google::protobuf::Message> RequestOf(const std::string& method, const std::string& model);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_E2E_GENERIC_CALL_H_
