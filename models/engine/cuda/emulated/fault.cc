// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/emulated/fault.h"

#include "absl/strings/str_cat.h"

namespace vitrine::cuda::emulated {

const char* Name(FaultKind kind) {
  switch (kind) {
    case FaultKind::kStray:
      return "stray access";
    case FaultKind::kUnwritten:
      return "read of unwritten memory";
    case FaultKind::kInFlight:
      return "access to a copy in flight";
    case FaultKind::kRace:
      return "race";
    case FaultKind::kMisaligned:
      return "misaligned address";
    case FaultKind::kDiverged:
      return "diverged barrier";
  }
  return "unknown";
}

std::string Fault::ToString() const {
  const std::string file = source.file;
  std::string text = absl::StrCat(Name(kind), " in ", kernel, ", block ", block, ", thread ", thread, ", ",
                                  file.substr(file.rfind('/') + 1), ":", source.line);
  if (address != 0) absl::StrAppend(&text, ", address 0x", absl::Hex(address));
  if (!detail.empty()) absl::StrAppend(&text, ": ", detail);
  return text;
}

}  // namespace vitrine::cuda::emulated
