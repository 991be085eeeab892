// SPDX-License-Identifier: Apache-2.0
// Parses arbitrary bytes as an array of NumPy. They must be rejected with a status, or give as many numbers as the
// array's shape states. The input must have enough bytes for these numbers.
#include <cstdint>
#include <string_view>

#include "models/tool/publish/import/class_vectors.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto array = vitrine::ParseArray({reinterpret_cast<const char*>(data), size});
  if (!array.ok()) {
    vitrine::Require(array.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  vitrine::Require(array->shape.size() == 2);
  vitrine::Require(array->values.size() == static_cast<size_t>(array->shape[0] * array->shape[1]));
  vitrine::Require(array->values.size() * 2 <= size);  // a float16, the smallest number, has two bytes
  return 0;
}
