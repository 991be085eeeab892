// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "models/engine/cuda/kernels/fast/attention_tiles.h"
#include "models/engine/cuda/launches/fast_kernels.h"

namespace vitrine::cuda {
namespace {

// Returns true if the rows of all four matrices allow accesses of 16 bytes.
template <class Arguments>
bool AreWide(const Arguments& arguments) {
  return HasWideRows(arguments.q) && HasWideRows(arguments.k) && HasWideRows(arguments.v) && HasWideRows(arguments.y);
}

// Returns the suffix of the kernel's name for the type of q, k and v.
template <class Arguments>
const char* Rows(const Arguments& arguments) {
  return arguments.q.narrow ? "_narrow" : "";
}

// Sets threads and shared memory for the tiles.
template <class Tiles>
void Shape(Launch& launch) {
  launch.threads = Tiles::kThreads;
  launch.shared_bytes = Tiles::kSharedBytes;
}

template <int kWidth>
void ShapeTokens(Launch& launch, bool is_fp32) {
  if (is_fp32) {
    Shape<TokenTilesFp32<kWidth>>(launch);
  } else {
    Shape<TokenTiles<kWidth>>(launch);
  }
}

}  // namespace

bool HasFastChannels(const engine::AttendChannelsStep& step) {
  const int64_t width = step.q.columns / step.attend.heads;
  return step.precision != Precision::kFp32 && (width == 16 || width == 32 || width == 48);
}

bool HasFastTokens(const engine::AttendStep& step) {
  const int64_t width = step.q.columns / step.attend.heads;
  return !step.attend.class_query && (width == 16 || width == 32 || width == 48 || width == 64);
}

std::optional<Launch> FastChannels(const engine::AttendChannelsStep& step, const std::string& name,
                                   const ChannelArguments& arguments) {
  const int64_t width = step.q.columns / step.attend.heads;
  if (!HasFastChannels(step) || !AreWide(arguments)) return std::nullopt;
  Launch launch = MakeLaunch(name, absl::StrCat("vitrine_attend_channels_", width, Rows(arguments)), arguments);
  switch (width) {
    case 16:
      Shape<ChannelTiles<16>>(launch);
      return launch;
    case 32:
      Shape<ChannelTiles<32>>(launch);
      return launch;
    case 48:
      Shape<ChannelTiles<48>>(launch);
      return launch;
    default:
      return std::nullopt;
  }
}

std::optional<Launch> FastTokens(const engine::AttendStep& step, const std::string& name,
                                 const AttendArguments& arguments) {
  if (!HasFastTokens(step) || !AreWide(arguments)) return std::nullopt;
  const int64_t width = step.q.columns / step.attend.heads;
  const bool is_fp32 = step.precision == Precision::kFp32;
  const char* const numbers = is_fp32 ? "_fp32" : Rows(arguments);
  Launch launch = MakeLaunch(name, absl::StrCat("vitrine_attend_tokens_", width, numbers), arguments);
  if (width == 16) ShapeTokens<16>(launch, is_fp32);
  if (width == 32) ShapeTokens<32>(launch, is_fp32);
  if (width == 48) ShapeTokens<48>(launch, is_fp32);
  if (width == 64) ShapeTokens<64>(launch, is_fp32);
  return launch;
}

std::optional<Launch> FastQuery(const engine::AttendStep& step, const std::string& name,
                                const AttendArguments& arguments) {
  constexpr int64_t kLanes = 16;  // number of partial sums per score
  const int64_t width = step.q.columns / step.attend.heads;
  if (!step.attend.class_query || width % kLanes != 0 || width > QueryTiles::kMostWidth) return std::nullopt;
  if (!HasWideRows(arguments.k) || !HasWideRows(arguments.v)) return std::nullopt;
  Launch launch = MakeLaunch(name, "vitrine_attend_query", arguments);
  launch.threads = QueryTiles::kThreads;
  launch.shared_bytes = static_cast<size_t>(QueryTiles::SharedBytes(static_cast<int>(width)));
  return launch;
}

}  // namespace vitrine::cuda
