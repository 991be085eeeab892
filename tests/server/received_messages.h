// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_RECEIVED_MESSAGES_H_
#define VITRINE_TESTS_SERVER_RECEIVED_MESSAGES_H_

#include <memory>
#include <string>
#include <utility>

#include "server/wire/message/read_message.h"

namespace vitrine::testing {

// Returns bytes in the form in which a transport passes them on.
inline MessageBytes Received(std::string bytes) {
  return std::make_shared<const ReceivedBytes>(ReceivedBytes{std::move(bytes), {}});
}

// Returns a message as ReadInfer returns it for the serialized message.
inline absl::StatusOr<ReceivedInfer> Received(const inference::ModelInferRequest& message) {
  return ReadInfer(Received(message.SerializeAsString()));
}

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_SERVER_RECEIVED_MESSAGES_H_
