// SPDX-License-Identifier: Apache-2.0
// Chooses fast kernels of attention by the widths and alignment of columns, never by the number of rows.
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_FAST_ATTENTION_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_FAST_ATTENTION_H_

#include <optional>
#include <string>

#include "models/engine/cuda/kernels/arguments.h"
#include "models/engine/cuda/launches/device.h"
#include "models/engine/plan/step.h"

namespace vitrine::cuda {

// Return true if a fast kernel supports the precision and the widths. For attention among channels, there is no fast
// kernel in fp32.
bool HasFastChannels(const engine::AttendChannelsStep& step);
bool HasFastTokens(const engine::AttendStep& step);

// Returns attention among channels as one launch without scratch memory. Returns nullopt if the attention is not bf16,
// or if the kernel does not support its widths or alignment.
std::optional<Launch> FastChannels(const engine::AttendChannelsStep& step, const std::string& name,
                                   const ChannelArguments& arguments);

// Returns attention among tokens, or nullopt if the kernel does not support the widths or the alignment. In fp32, the
// results are bit-identical to those of the plain kernel.
std::optional<Launch> FastTokens(const engine::AttendStep& step, const std::string& name,
                                 const AttendArguments& arguments);

// Like FastTokens in fp32, but for attention whose only query is the class token.
std::optional<Launch> FastQuery(const engine::AttendStep& step, const std::string& name,
                                const AttendArguments& arguments);

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_FAST_ATTENTION_H_
