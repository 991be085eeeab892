// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_CLASSIFY_COMMAND_H_
#define VITRINE_CLIENT_CLASSIFY_COMMAND_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/attention_choice.h"
#include "client/client.h"
#include "client/picture_run.h"
#include "client/pictures.h"
#include "client/terminal.h"

namespace vitrine {

enum class Format { kTable, kJson };

// What `vitrine classify` was asked to do.
struct ClassifyCommand {
  std::vector<std::string> paths;  // pictures, folders of pictures, patterns (see FindPictures)
  PictureSearch search = {};
  ClientOptions client;
  ModelChoice model;
  std::vector<ModelChoice> models = {};  // several, beside each other (classify_models.h); empty: `model`
  std::string models_sheet = {};         // file for what they saw; empty: none
  std::optional<int> top_k;
  v1::Priority priority = v1::NORMAL;
  std::optional<v1::ResolutionWish> resolution;
  AttentionWish attention = {};
  Format format = Format::kTable;
};

// Classifies the pictures and writes a row or a JSON line for each to `out`, as it is answered and in the order given.
// A picture that cannot be read, or that the server refuses, costs a line in `errors`, in JSON its line too.
// Returns how many pictures failed, or why nothing could be begun.
absl::StatusOr<int> RunClassify(const ClassifyCommand& command, const Page& page, std::ostream& out,
                                std::ostream& errors);

// "SIDE" or "HxW" in pixels, 1 to 8192 each.
absl::StatusOr<v1::ResolutionWish> ParseResolution(absl::string_view text);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_CLASSIFY_COMMAND_H_
