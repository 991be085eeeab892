// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/sequence_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <exception>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/reference/initializer.h"
#include "trainer/lab/ends.h"

namespace vitrine {
namespace {

absl::Status CheckLength(const v1::SequenceConfig& config, absl::string_view name, const at::Tensor& sequences) {
  const int64_t length = sequences.size(1);
  if (sequences.size(0) == 0) return absl::InvalidArgumentError("the batch has no sequence");
  if (length >= 1 && length <= config.max_length()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the ", name, " has sequences of ", length,
                                                 " elements; this model takes 1 to ", config.max_length()));
}

absl::Status CheckIds(const v1::SequenceConfig& config, absl::string_view name, const at::Tensor& ids, int vocabulary) {
  if (!ids.defined() || ids.dim() != 2 || ids.scalar_type() != at::kLong) {
    return absl::InvalidArgumentError(absl::StrCat("the ", name, " is not an int64 tensor of sequences and elements"));
  }
  RETURN_IF_ERROR(CheckLength(config, name, ids));
  const int64_t least = ids.min().item<int64_t>(), most = ids.max().item<int64_t>();
  if (least < 0 || most >= vocabulary) {
    return absl::InvalidArgumentError(absl::StrCat("the ", name, " has the id ", least < 0 ? least : most,
                                                   "; this model's vocabulary has ids 0 to ", vocabulary - 1));
  }
  if (!config.pair().has_padding()) return absl::OkStatus();
  if (!(ids.select(1, 0) == config.pair().padding()).any().item<bool>()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the ", name, " has a sequence that begins with padding; padding must be at the end"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SequenceModel>> MakeSequenceModel(const v1::SequenceConfig& config, uint64_t seed,
                                                                 at::Device device) {
  RETURN_IF_ERROR(ValidateSequence(config));
  try {
    const at::NoGradGuard no_grad;
    Initializer initializer(seed, device);
    return config.has_pair() ? sequences::MakeEncoderDecoder(config, initializer)
                             : sequences::MakeEncoder(config, initializer);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("building the sequence model failed: ", error.what()));
  }
}

int SequenceOutputs(const v1::SequenceConfig& config) {
  if (config.outputs() > 0) return config.outputs();
  return config.has_pair() ? config.pair().target_vocabulary() : config.tokens().vocabulary();
}

absl::Status CheckBatch(const v1::SequenceConfig& config, const SequenceBatch& batch) {
  if (config.has_pair()) {
    RETURN_IF_ERROR(CheckIds(config, "source", batch.source, config.pair().source_vocabulary()));
    RETURN_IF_ERROR(CheckIds(config, "target", batch.target, config.pair().target_vocabulary()));
    if (batch.source.size(0) == batch.target.size(0)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the batch has ", batch.source.size(0), " sources and ",
                                                   batch.target.size(0), " targets; each source needs one target"));
  }
  if (batch.target.defined()) {
    return absl::InvalidArgumentError("the batch has a target, but only a model with config.pair supports one");
  }
  if (config.has_tokens()) return CheckIds(config, "source", batch.source, config.tokens().vocabulary());
  const at::Tensor& source = batch.source;
  if (!source.defined() || source.dim() != 3 || source.scalar_type() != at::kFloat ||
      source.size(2) != config.features().width()) {
    return absl::InvalidArgumentError(absl::StrCat("the source is not an fp32 tensor of sequences, elements and ",
                                                   config.features().width(), " values"));
  }
  return CheckLength(config, "source", source);
}

absl::StatusOr<at::Tensor> RunSequenceModel(const SequenceModel& model, const SequenceBatch& batch, AttentionTap* tap) {
  try {
    RETURN_IF_ERROR(CheckBatch(model.config(), batch));
    const at::NoGradGuard no_grad;
    ForwardContext context;
    context.tap = tap;
    return model.Forward(batch, context);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("the forward pass failed: ", error.what()));
  }
}

}  // namespace vitrine
