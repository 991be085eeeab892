// SPDX-License-Identifier: Apache-2.0
#include "client/commands/classify_models.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/commands/models_sheet.h"
#include "client/commands/output/json_lines.h"
#include "client/commands/output/table.h"
#include "client/commands/output/text.h"
#include "common/charts/html/thumbnail.h"
#include "common/drawing/attention_words.h"
#include "common/file/write.h"
#include "common/imaging/decode.h"
#include "common/imaging/fit_image.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int64_t kLargestImage = int64_t{512} << 20;
constexpr int kKeptSide = 512;  // longer side of the copies kept for the sheet

// A model of the comparison and its request.
struct AskedModel {
  v1::ClassifyRequest request;
  ModelsSheet::Model model;
};

// Prepares the request to one model. For a sheet, the request includes an attention map of the last layer, of the
// model's first kind whose maps have the image's grid. A model without such a kind gets no request for a map.
absl::StatusOr<AskedModel> AskOf(const ClassifyCommand& command, const ModelChoice& choice, Client& client) {
  ASSIGN_OR_RETURN(const v1::ModelVersion version, ChooseModel(client, choice));
  AskedModel asked_model;
  asked_model.request.set_model(version.model());
  AskForVersion(choice, asked_model.request);
  // Without a version, the server may divide the images among several versions.
  if (choice.label.empty()) asked_model.request.set_version(version.version());
  if (command.top_k.has_value()) asked_model.request.set_top_k(*command.top_k);
  if (command.resolution.has_value()) *asked_model.request.mutable_resolution() = *command.resolution;
  asked_model.request.set_priority(command.priority);
  asked_model.model = {.name = absl::StrCat(version.model(), " version ", version.version()),
                       .map = "no map that lies on the image"};
  if (command.models_sheet.empty()) return asked_model;
  const AttentionOptions requested{.folder = "."};  // without a folder, ChooseAttention returns no requests
  const absl::StatusOr<std::vector<v1::AttentionRequest>> attention = ChooseAttention(requested, version);
  if (!attention.ok()) return asked_model;
  const v1::AttentionRequest& asked = attention->front();
  *asked_model.request.add_attention() = asked;
  asked_model.request.set_max_attention_bytes(kMostAttentionBytes);
  const v1::AttentionOffer* offer = OfferOf(version, asked.kind());
  const int layers = offer != nullptr ? offer->layers() : version.layers();
  asked_model.model.map = MapInWords(asked, 0, layers - 1, -1);
  return asked_model;
}

// Decodes the image as it is sent to the server, and then reduces it to kKeptSide pixels on its longer side.
absl::StatusOr<Image> KeptImage(const std::string& path) {
  ASSIGN_OR_RETURN(std::string bytes, ReadImage(path, kLargestImage));
  ASSIGN_OR_RETURN(std::optional<FittedImage> fitted, FitImage(bytes, FitLimits()));
  ASSIGN_OR_RETURN(const Image image, Decode(fitted.has_value() ? fitted->encoded : bytes));
  return Reduced(image, kKeptSide);
}

// Prints each distinct line once, because a damaged image fails for every model.
void PrintOnce(const std::string& lines, std::set<std::string>& said, std::ostream& errors) {
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    if (said.emplace(line).second) errors << line << std::endl;
  }
}

std::vector<Item> GuessesOf(const v1::ClassifyResponse& answer) {
  std::vector<Item> items;
  for (const v1::Prediction& guess : answer.predictions()) {
    const char* unsure = items.empty() && answer.unsure() ? kUnsure : "";
    items.push_back({absl::StrFormat("%s%s %.1f %%", unsure, Printable(guess.label()), 100 * guess.probability()),
                     items.empty() ? Style::kStrong : Style::kPlain});
  }
  return items;
}

void PrintTable(const ModelsSheet& sheet, const Page& page, std::ostream& out) {
  int name = 0, model_name = 0, guesses = 0;
  for (const ModelsSheet::Model& model : sheet.models) {
    model_name = std::max(model_name, DisplayWidth(Printable(model.name)));
  }
  for (const ModelsSheet::Row& row : sheet.rows) {
    name = std::max(name, DisplayWidth(Printable(row.path)));
    for (const auto& answer : row.answers) {
      int width = -2;
      if (!answer.ok()) continue;
      for (const Item& item : GuessesOf(*answer)) width += DisplayWidth(item.text) + 2;
      guesses = std::max(guesses, width);
    }
  }
  const Table table(page,
                    {{"image", std::min(name, page.width / 3)},
                     {"model", model_name},
                     {"predictions", guesses},
                     {"grid", 5, Column::Align::kRight},
                     {"time", 8, Column::Align::kRight}},
                    /*flow_column=*/2);
  out << table.Header();
  for (const ModelsSheet::Row& row : sheet.rows) {
    std::string image = Printable(row.path);
    for (size_t m = 0; m < row.answers.size(); ++m) {
      if (!row.answers[m].ok()) continue;  // already reported
      const v1::ClassifyResponse& answer = *row.answers[m];
      out << table.Render({.cells = {{std::exchange(image, "")},
                                     {Printable(sheet.models[m].name)},
                                     {},
                                     {absl::StrCat(answer.grid().rows(), "x", answer.grid().columns())},
                                     {absl::StrFormat("%.1f ms", 1e3 * answer.timings().total()), Style::kFaint}},
                           .flow = GuessesOf(answer)});
    }
  }
  out << std::flush;
}

void PrintLines(const ModelsSheet& sheet, std::ostream& out) {
  for (const ModelsSheet::Row& row : sheet.rows) {
    for (const auto& answer : row.answers) {
      out << (answer.ok() ? AnswerLine(*answer, {.image = row.path, .sent_as = row.sent_as})
                          : FailureLine(row.path, answer.status()));
    }
  }
  out << std::flush;
}

bool IsPage(const std::string& file) {
  return absl::EndsWithIgnoreCase(file, ".html");
}

absl::Status WriteSheet(const ModelsSheet& sheet, const std::string& file) {
  ASSIGN_OR_RETURN(const std::string bytes, IsPage(file) ? ModelsSheetPage(sheet) : DrawModelsSheet(sheet));
  return WriteFile(file, bytes);
}

}  // namespace

absl::StatusOr<int> RunClassifyModels(const ClassifyCommand& command, const Page& page, std::ostream& out,
                                      std::ostream& errors) {
  ASSIGN_OR_RETURN(const FoundImages found, FindImages(command.paths, command.search));
  const std::vector<std::string>& paths = found.paths;
  if (!found.passed_over.empty()) errors << "vitrine: skipped: " << Printable(found.passed_over) << std::endl;
  if (std::ranges::find(paths, "-") != paths.end()) {
    return absl::InvalidArgumentError(
        "the standard input can be read only once, but --models reads images once per model");
  }
  const std::string& file = command.models_sheet;
  if (!file.empty() && !IsPage(file)) RETURN_IF_ERROR(CheckSheetRows(paths.size()));
  RETURN_IF_ERROR(MakeFolder(std::filesystem::path(file).parent_path().string()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(command.client));
  ModelsSheet sheet;
  std::vector<v1::ClassifyRequest> requests;
  for (const ModelChoice& choice : command.models) {
    ASSIGN_OR_RETURN(AskedModel asked_model, AskOf(command, choice, *client));
    sheet.models.push_back(std::move(asked_model.model));
    requests.push_back(std::move(asked_model.request));
  }
  for (const std::string& path : paths) sheet.rows.push_back({.path = path});
  std::set<std::string> said;
  ImageCount count(paths.size() * requests.size(), errors);
  size_t before = 0;  // images counted for the earlier models
  for (const v1::ClassifyRequest& request : requests) {
    std::ostringstream lines;
    ImageRun::Handlers handlers;
    handlers.answered = [&](const ImageRun::Answered& answered) {
      count.Update(before + answered.index + 1);
      sheet.rows[answered.index].answers.emplace_back(answered.answer);
      sheet.rows[answered.index].sent_as = answered.sent_as;
      return absl::OkStatus();
    };
    handlers.failed = [&](size_t index, const absl::Status& why) { sheet.rows[index].answers.emplace_back(why); };
    ImageRun(paths, command.client, request, handlers, lines).Run(*client);
    PrintOnce(lines.str(), said, errors);
    before += paths.size();
  }
  int failed = 0;
  for (const ModelsSheet::Row& row : sheet.rows) {
    failed += !std::ranges::all_of(row.answers, [](const auto& answer) { return answer.ok(); });
  }
  command.format == Format::kJson ? PrintLines(sheet, out) : PrintTable(sheet, page, out);
  if (command.models_sheet.empty()) return failed;
  for (ModelsSheet::Row& row : sheet.rows) {
    if (absl::StatusOr<Image> image = KeptImage(row.path); image.ok()) row.image = *std::move(image);
  }
  RETURN_IF_ERROR(WriteSheet(sheet, command.models_sheet));
  if (command.format == Format::kTable) out << Printable(command.models_sheet) << std::endl;
  return failed;
}

}  // namespace vitrine
