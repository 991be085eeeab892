// SPDX-License-Identifier: Apache-2.0
#include "client/commands/classify_command.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "client/commands/classify_page.h"
#include "client/commands/images.h"
#include "client/commands/output/attention_files.h"
#include "client/commands/output/distance_files.h"
#include "client/commands/output/json_lines.h"
#include "client/commands/output/text.h"
#include "common/file/write.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Returns the part of the request that is common to all images.
v1::ClassifyRequest RequestFor(const ClassifyCommand& command, const v1::ModelVersion& model,
                               const std::vector<v1::AttentionRequest>& attention) {
  v1::ClassifyRequest request;
  request.set_model(model.model());
  AskForVersion(command.model, request);
  if (command.top_k.has_value()) request.set_top_k(*command.top_k);
  if (command.resolution.has_value()) *request.mutable_resolution() = *command.resolution;
  request.set_priority(command.priority);
  request.mutable_attention()->Add(attention.begin(), attention.end());
  if (!attention.empty()) request.set_max_attention_bytes(kMostAttentionBytes);
  return request;
}

// Writes rows and drawings as answers arrive.
class Classification {
 public:
  Classification(const ClassifyCommand& command, const std::vector<std::string>& paths,
                 const std::vector<std::string>& stems, ClassifyPage page, bool signed_attention, std::ostream& out,
                 std::ostream& errors)
      : command_(command),
        paths_(paths),
        stems_(stems),
        page_(std::move(page)),
        signed_attention_(signed_attention),
        out_(out),
        errors_(errors),
        distance_(signed_attention) {}

  absl::Status Show(const ImageRun::Answered& image) {
    const AttentionFiles files{command_.attention.folder, stems_.empty() ? "" : stems_[image.index],
                               command_.attention.sheet, signed_attention_, command_.attention.side_by_side};
    const absl::StatusOr<std::vector<std::string>> written =
        WriteAttention(files, image.asked, image.encoded, image.answer);
    const std::vector<std::string> drawings = written.ok() ? *written : std::vector<std::string>();
    if (command_.format == Format::kJson) {
      out_ << AnswerLine(image.answer, {.image = paths_[image.index], .sent_as = image.sent_as, .attention = drawings})
           << std::flush;
    } else {
      std::vector<std::string> shown;  // paths without repeats (attention maps may share a sheet)
      std::ranges::unique_copy(drawings, std::back_inserter(shown));
      out_ << (headed_ ? "" : page_.Header()) << page_.Text(paths_[image.index], image.answer, shown) << std::flush;
      headed_ = true;
    }
    RETURN_IF_ERROR(written.status());
    return distance_.Add(image.asked, image.answer);
  }

  // Writes the footer and the plot of mean distances. Returns false if the plot could not be written.
  bool Finish(absl::Duration elapsed) {
    const absl::StatusOr<std::string> mean = distance_.Write(command_.attention.folder);
    if (command_.format == Format::kTable) {
      out_ << page_.Footer(elapsed);
      if (mean.ok() && !mean->empty()) out_ << "attention distance over all images: " << Printable(*mean) << "\n";
      out_ << std::flush;
    }
    if (!mean.ok()) errors_ << "vitrine: " << Printable(mean.status().message()) << std::endl;
    return mean.ok();
  }

 private:
  const ClassifyCommand& command_;
  const std::vector<std::string>& paths_;
  const std::vector<std::string>& stems_;
  ClassifyPage page_;
  const bool signed_attention_;
  std::ostream& out_;
  std::ostream& errors_;
  MeanDistance distance_;
  bool headed_ = false;
};

// Returns a function from an image's stem to the file name of its drawing; null unless every image has exactly one
// drawing.
std::function<std::string(const std::string& stem)> OnlyDrawing(const ClassifyCommand& command,
                                                                const v1::ModelVersion& model,
                                                                const v1::ClassifyRequest& request) {
  if (command.attention.side_by_side) {
    const bool plot = std::ranges::any_of(
        request.attention(), [](const v1::AttentionRequest& asked) { return asked.kind() == v1::DISTANCE; });
    if (plot || request.attention().empty()) return nullptr;
    return SideBySideFileName;
  }
  if (request.attention_size() != 1) return nullptr;
  const v1::AttentionRequest& asked = request.attention(0);
  const bool several = asked.layers_size() > 1 || asked.heads_size() > 1;
  if (several && asked.kind() != v1::DISTANCE) {
    if (!command.attention.sheet) return nullptr;
    return [asked](const std::string& stem) { return SheetFileName(stem, asked); };
  }
  v1::AttentionMap map;
  map.set_kind(asked.kind());
  map.set_layer(map.kind() == v1::ROLLOUT ? -1 : asked.layers_size() == 1 ? asked.layers(0) : model.layers() - 1);
  map.set_head(asked.heads_size() == 1 ? asked.heads(0) : -1);
  return [asked, map](const std::string& stem) { return AttentionFileName(stem, map, asked); };
}

ClassifyPage::Expected ExpectedRows(const ClassifyCommand& command, const std::vector<std::string>& paths,
                                    const std::vector<std::string>& stems, const v1::ModelVersion& model,
                                    const v1::ClassifyRequest& request) {
  ClassifyPage::Expected expected;
  expected.images = paths;
  expected.labels.assign(model.labels().begin(), model.labels().end());
  expected.may_be_unsure = model.calibration().unsure_below() > 0;
  const int classes = std::max(1, model.config().classes());
  expected.predictions = std::clamp(command.top_k.value_or(5), 1, classes);
  const auto name = OnlyDrawing(command, model, request);
  if (name == nullptr) return expected;
  for (const std::string& stem : stems) {
    const std::string file = (std::filesystem::path(command.attention.folder) / name(stem)).string();
    expected.overlay_width = std::max(expected.overlay_width, DisplayWidth(Printable(file)));
  }
  return expected;
}

}  // namespace

absl::StatusOr<int> RunClassify(const ClassifyCommand& command, const Page& page, std::ostream& out,
                                std::ostream& errors) {
  ASSIGN_OR_RETURN(const FoundImages found, FindImages(command.paths, command.search));
  const std::vector<std::string>& paths = found.paths;
  if (!found.passed_over.empty()) errors << "vitrine: skipped: " << Printable(found.passed_over) << std::endl;
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(command.client));
  ASSIGN_OR_RETURN(const v1::ModelVersion model, ChooseModel(*client, command.model));
  ASSIGN_OR_RETURN(const std::vector<v1::AttentionRequest> attention, ChooseAttention(command.attention, model));
  RETURN_IF_ERROR(MakeFolder(command.attention.folder));
  const v1::ClassifyRequest request = RequestFor(command, model, attention);
  std::vector<std::string> stems;  // needed only for drawings
  if (!command.attention.folder.empty()) stems = DistinctStems(paths);
  Classification classification(command, paths, stems,
                                ClassifyPage(page, ExpectedRows(command, paths, stems, model, request)),
                                HasSignedAttention(model.config()), out, errors);
  ImageRun::Handlers handlers;
  if (command.attention.query.has_value()) {
    handlers.prepare = [&](const std::string& encoded, v1::ClassifyRequest& one) {
      return PlaceQuery(*command.attention.query, model.config(), encoded, one);
    };
  }
  handlers.answered = [&](const ImageRun::Answered& image) { return classification.Show(image); };
  if (command.format == Format::kJson) {
    handlers.failed = [&](size_t index, const absl::Status& why) {
      out << FailureLine(paths[index], why) << std::flush;
    };
  }
  const absl::Time start = absl::Now();
  const int failed = ImageRun(paths, command.client, request, handlers, errors).Run(*client);
  return classification.Finish(absl::Now() - start) ? failed : std::max(1, failed);
}

absl::StatusOr<v1::ResolutionWish> ParseResolution(absl::string_view text) {
  std::vector<absl::string_view> sides = absl::StrSplit(text, 'x');
  if (sides.size() == 1) sides.push_back(sides.front());
  int32_t height = 0, width = 0;
  const auto fine = [](absl::string_view side, int32_t* pixels) {
    return absl::SimpleAtoi(side, pixels) && *pixels >= 1 && *pixels <= 8192;
  };
  if (sides.size() != 2 || !fine(sides[0], &height) || !fine(sides[1], &width)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text,
        "\" is no resolution; give the side of a square or HEIGHTxWIDTH in pixels, each 1 to 8192, as in 48 or 48x32"));
  }
  v1::ResolutionWish requested;
  requested.set_height(height);
  requested.set_width(width);
  return requested;
}

}  // namespace vitrine
