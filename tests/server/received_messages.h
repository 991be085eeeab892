// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_RECEIVED_MESSAGES_H_
#define VITRINE_TESTS_SERVER_RECEIVED_MESSAGES_H_

#include <memory>
#include <string>
#include <utility>

#include "server/wire/message/read_message.h"

namespace vitrine::testing {

// Returns bytes in the form of a message that a transport has received.
inline MessageBytes Received(std::string bytes) {
  return std::make_shared<const ReceivedBytes>(ReceivedBytes{std::move(bytes), {}});
}

// Serializes a message and returns the result of ReadInfer for these bytes.
inline absl::StatusOr<ReceivedInfer> Received(const inference::ModelInferRequest& message) {
  return ReadInfer(Received(message.SerializeAsString()));
}

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_SERVER_RECEIVED_MESSAGES_H_
