// SPDX-License-Identifier: Apache-2.0
#include "models/kernels/cpu/workspace.h"

#include <cstdio>
#include <cstdlib>

namespace vitrine::cpu {

std::byte* Workspace::TakeBytes(int64_t bytes) {
  if (bytes > memory_.bytes() - used_) {
    std::fprintf(stderr, "workspace of %lld bytes is too small: %lld are taken, %lld more are wanted\n",
                 static_cast<long long>(memory_.bytes()), static_cast<long long>(used_), static_cast<long long>(bytes));
    std::abort();
  }
  std::byte* const taken = memory_.data() + used_;
  used_ += bytes;
  return taken;
}

}  // namespace vitrine::cpu
