// SPDX-License-Identifier: Apache-2.0
// Makes the functions (TakeTap) that run between two launches and copy values from the device to the AttentionTap or
// TokenTap that requests them.
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_TAPS_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_TAPS_H_

#include <vector>

#include "models/engine/cuda/launches/plan.h"
#include "models/program/operators.h"

namespace vitrine::cuda {

TakeTap TapOfTokens(const Matrix& x, int stage);
// Returns the maximum number of scores (and of weights) per launch of TapOfMaps for an image of at most `keys` keys.
int64_t ScoresAtOnce(const AttendArguments& arguments, int64_t keys);
// Returns a TakeTap for the scores and weights of softmax attention. The TakeTap launches vitrine_attend_map, which
// computes both in fp32 for some queries at a time. `arguments.scores` is memory for 2 * scores_at_once floats.
TakeTap TapOfMaps(const AttendArguments& arguments, bool class_query, int layer, int64_t scores_at_once);
// Returns a TakeTap for the matrices of attention among channels: the weights after the softmax if `weights` is true,
// else the scores before the softmax.
TakeTap TapOfChannels(const ChannelArguments& arguments, int layer, bool weights);
// Returns a TakeTap for the scores and weights of attention among channels by the fast kernel. The TakeTap runs
// `launch` again with `arguments`, so that the kernel also writes scores and weights. This second run does not change
// the bits of y.
TakeTap TapOfFastChannels(const Launch& launch, const ChannelArguments& arguments, int layer);
// Returns a TakeTap for the factors of X-ViT's attention matrices. The TakeTap must run before the contexts (k^T v) are
// scaled.
TakeTap TapOfFactors(const ChannelArguments& arguments, const program::AttendLinearly& attend,
                     std::vector<float> context_scale);

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_TAPS_H_
