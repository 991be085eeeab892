// SPDX-License-Identifier: Apache-2.0
#include "models/reference/out_of_memory.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace vitrine {

// LibTorch's CPU allocator, CUDA calls that allocate memory and CUDA's libraries throw errors of a general type. So the
// message must be searched for a sign that memory ran out.
bool IsOutOfMemory(const std::exception& error) {
  constexpr std::string_view kTexts[] = {"can't allocate memory", "out of memory", "_ALLOC_FAILED"};
  const std::string_view text = error.what();
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
         std::any_of(std::begin(kTexts), std::end(kTexts),
                     [&](std::string_view each) { return text.find(each) != std::string_view::npos; });
}

}  // namespace vitrine
