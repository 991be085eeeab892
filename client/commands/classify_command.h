// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_CLASSIFY_COMMAND_H_
#define VITRINE_CLIENT_COMMANDS_CLASSIFY_COMMAND_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/commands/attention_choice.h"
#include "client/commands/image_run.h"
#include "client/commands/images.h"
#include "client/commands/output/terminal.h"
#include "client/lib/client.h"

namespace vitrine {

enum class Format { kTable, kJson };

// Arguments of `vitrine classify`.
struct ClassifyCommand {
  std::vector<std::string> paths;  // images, folders of images, patterns (see FindImages)
  ImageSearch search = {};
  ClientOptions client;
  ModelChoice model;
  std::vector<ModelChoice> models = {};  // several models to compare (classify_models.h); empty: `model`
  std::string models_sheet = {};         // file for a comparison of the models; empty: none
  std::optional<int> top_k;
  v1::Priority priority = v1::NORMAL;
  std::optional<v1::ResolutionWish> resolution;
  AttentionOptions attention = {};
  Format format = Format::kTable;
};

// Classifies the images. As answers arrive, writes a row or a JSON line for each answered image to `out`, in the order
// of the paths. If an image cannot be read or is rejected, writes a line to `errors`, and with kJson also to `out`.
// Returns the number of failed images (at least 1 if a drawing failed), or an error if the run could not start.
absl::StatusOr<int> RunClassify(const ClassifyCommand& command, const Page& page, std::ostream& out,
                                std::ostream& errors);

// Parses "SIDE" or "HxW" in pixels, 1 to 8192 each.
absl::StatusOr<v1::ResolutionWish> ParseResolution(absl::string_view text);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_CLASSIFY_COMMAND_H_
