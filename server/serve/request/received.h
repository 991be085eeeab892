// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_REQUEST_RECEIVED_H_
#define VITRINE_SERVER_SERVE_REQUEST_RECEIVED_H_

#include <string_view>

#include "server/serve/scheduling/message_bytes.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// A request whose image is a view of the received bytes, not a copy.
struct ReceivedClassify {
  v1::ClassifyRequest message = {};  // `image` and `tensor.data` are empty; input_case is set
  std::string_view input = {};       // bytes of the image or of the tensor's data, in memory of `owner`
  MessageBytes owner = nullptr;      // null if `input` is empty or in static memory
};

// Moves the bytes of the image or tensor out of a complete message into `owner`, without a copy.
ReceivedClassify ReceivedOf(v1::ClassifyRequest whole);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_REQUEST_RECEIVED_H_
