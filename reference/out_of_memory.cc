// SPDX-License-Identifier: Apache-2.0
#include "reference/out_of_memory.h"

#include <c10/util/Exception.h>

#include <new>
#include <string_view>

namespace vitrine {

// LibTorch's allocator of a processor's memory throws its plain error, which only its text tells from others.
bool IsOutOfMemory(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
         std::string_view(error.what()).find("can't allocate memory") != std::string_view::npos;
}

}  // namespace vitrine
