// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/launches/fast_attention.h"

#include <algorithm>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "models/engine/cuda/kernels/fast/attention_tiles.h"

namespace vitrine::cuda {
namespace {

using engine::LoweredPlan;
using engine::Operand;

constexpr int64_t kAccess = 4;  // floats of a wide access

// Returns true if every row of each operand begins at a multiple of 16 bytes.
bool AreAligned(const LoweredPlan& lowered, std::initializer_list<Operand> operands) {
  return std::all_of(operands.begin(), operands.end(), [&](const Operand& operand) {
    const int64_t stride = lowered.buffers[static_cast<size_t>(operand.buffer)].width;
    return operand.first % kAccess == 0 && stride % kAccess == 0;
  });
}

// Calls act(integral_constant) for a width of heads that fast kernels have; returns false for any other.
template <class Act>
bool ForHeadWidth(int64_t width, Act act) {
  switch (width) {
    case 16:
      act(std::integral_constant<int, 16>());
      return true;
    case 32:
      act(std::integral_constant<int, 32>());
      return true;
    case 48:
      act(std::integral_constant<int, 48>());
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<Launch> FastChannels(const LoweredPlan& lowered, const engine::AttendChannelsStep& step,
                                   const std::string& name, const ChannelArguments& arguments) {
  const int64_t width = step.q.columns / step.attend.heads;
  if (step.precision == Precision::kFp32 || !AreAligned(lowered, {step.q, step.k, step.v, step.y})) return std::nullopt;
  Launch launch = MakeLaunch(name, absl::StrCat("vitrine_attend_channels_", width), arguments);
  const bool suits = ForHeadWidth(width, [&](auto constant) {
    launch.threads = ChannelTiles<constant>::kThreads;
    launch.shared_bytes = ChannelTiles<constant>::kSharedBytes;
  });
  if (!suits) return std::nullopt;
  return launch;
}

}  // namespace vitrine::cuda
