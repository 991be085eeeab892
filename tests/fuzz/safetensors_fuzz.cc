// SPDX-License-Identifier: Apache-2.0
// Parses arbitrary bytes as safetensors. They must be rejected with a status, or give tensors that have the same bytes
// after they are written and parsed again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "models/repository/files/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto content = vitrine::ParseSafetensors({reinterpret_cast<const char*>(data), size});
  if (!content.ok()) {
    if (content.status().code() != absl::StatusCode::kInvalidArgument) std::abort();
    return 0;
  }
  vitrine::CheckFinite(*content).IgnoreError();
  const auto written = vitrine::WriteSafetensors(*content);
  // Escape sequences may make the written header longer than the header that was read, and thus too long.
  if (!written.ok()) return written.status().code() == absl::StatusCode::kInvalidArgument ? 0 : (std::abort(), 0);
  const auto again = vitrine::ParseSafetensors(*written);
  if (!again.ok() || again->tensors.size() != content->tensors.size() || again->metadata != content->metadata) {
    std::abort();
  }
  const auto rewritten = vitrine::WriteSafetensors(*again);
  if (!rewritten.ok() || *rewritten != *written) std::abort();
  return 0;
}
