// SPDX-License-Identifier: Apache-2.0
#include "server/serve/request/received.h"

#include <memory>
#include <string>
#include <utility>

namespace vitrine {

ReceivedClassify ReceivedOf(v1::ClassifyRequest whole) {
  ReceivedClassify received;
  std::string bytes;
  if (whole.has_image()) {
    bytes = std::exchange(*whole.mutable_image(), std::string());
  } else if (whole.has_tensor()) {
    bytes = std::exchange(*whole.mutable_tensor()->mutable_data(), std::string());
  }
  received.message = std::move(whole);
  received.owner = std::make_shared<const ReceivedBytes>(ReceivedBytes{std::move(bytes), {}});
  received.input = received.owner->bytes;
  return received;
}

}  // namespace vitrine
