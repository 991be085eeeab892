// SPDX-License-Identifier: Apache-2.0
// Copies what taps request from the device, between two launches.
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_TAPS_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_TAPS_H_

#include <vector>

#include "models/engine/cuda/launches/plan.h"
#include "models/program/operators.h"

namespace vitrine::cuda {

using TakeTap = std::function<absl::Status(Device&, const BatchRows&, const Taps&)>;

TakeTap TapOfTokens(const Matrix& x, int stage);
// Returns how many scores, and as many weights, TapOfMaps computes at once if an image has at most `keys` keys.
int64_t ScoresAtOnce(const AttendArguments& arguments, int64_t keys);
// Scores and weights of softmax attention, which launches of its own compute in fp32, some queries at a time.
// `arguments.scores` is memory for both.
TakeTap TapOfMaps(const AttendArguments& arguments, bool class_query, int layer, int64_t scores_at_once);
// The matrices of attention among channels as they are: scores before the softmax, then weights.
TakeTap TapOfChannels(const ChannelArguments& arguments, int layer, bool weights);
// Scores and weights of a fast launch, which writes them when it runs again with these arguments, and y with the same
// bits.
TakeTap TapOfFastChannels(const Launch& launch, const ChannelArguments& arguments, int layer);
// X-ViT's factors, from the contexts before they are scaled.
TakeTap TapOfFactors(const ChannelArguments& arguments, const program::AttendLinearly& attend,
                     std::vector<float> context_scale);

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_TAPS_H_
