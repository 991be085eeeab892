// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_COMMON_SILENT_STREAM_H_
#define VITRINE_TESTS_COMMON_SILENT_STREAM_H_

#include <memory>
#include <utility>

#include "common/http/server.h"

namespace vitrine {

// Reads a body and never answers.
class SilentStream final : public HttpStreamHandler {
 public:
  explicit SilentStream(std::shared_ptr<HttpStream> stream) : stream_(std::move(stream)) {}
  void OnData(absl::string_view bytes) override { stream_->Consume(bytes.size()); }
  void OnEnd() override {}
  void OnTooSlow() override {}
  void OnClosed(bool) override {}

 private:
  const std::shared_ptr<HttpStream> stream_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_COMMON_SILENT_STREAM_H_
