#include "client/classify_command.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "client/attention_files.h"
#include "client/classify_page.h"
#include "client/json_lines.h"
#include "client/names.h"
#include "client/pictures.h"
#include "client/text.h"

namespace vitrine {
namespace {

// A matrix of every head of every layer may be large, and whoever asks for it wants it.
constexpr int64_t kMaxAttentionBytes = 16 << 20;

absl::StatusOr<std::string> OnlyReadyModel(Client& client) {
  ASSIGN_OR_RETURN(const v1::ListModelsResponse list, client.ListModels());
  std::vector<std::string> ready;
  for (const v1::ModelVersion& version : list.versions()) {
    if (version.state() == v1::READY) ready.push_back(version.model());
  }
  ready.erase(std::unique(ready.begin(), ready.end()), ready.end());
  if (ready.size() == 1) return ready.front();
  if (ready.empty()) return absl::NotFoundError("the server has no model that is ready; see vitrine models");
  return absl::InvalidArgumentError(
      absl::StrCat("the server has several models; choose one with --model: ", absl::StrJoin(ready, ", ")));
}

absl::StatusOr<v1::ModelVersion> ChooseModel(Client& client, const ModelChoice& choice) {
  std::string name = choice.name;
  if (name.empty()) {
    ASSIGN_OR_RETURN(name, OnlyReadyModel(client));
  }
  return client.GetModel(name, choice.version);
}

absl::StatusOr<std::vector<v1::AttentionKind>> ChooseKinds(const ClassifyCommand& command,
                                                           const v1::ModelVersion& model) {
  if (command.attention_folder.empty() || !command.kinds.empty()) return command.kinds;
  for (const int kind : model.attention_kinds()) {
    if (IsSpatial(static_cast<v1::AttentionKind>(kind))) return std::vector{static_cast<v1::AttentionKind>(kind)};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("model \"", model.model(), "\" has no attention map that lies on a picture; leave out --attention",
                   model.attention_kinds().empty() ? "" : " or name another kind with --attention-kind"));
}

// What every picture's request has in common.
v1::ClassifyRequest RequestFor(const ClassifyCommand& command, const v1::ModelVersion& model,
                               const std::vector<v1::AttentionKind>& kinds) {
  v1::ClassifyRequest request;
  request.set_model(model.model());
  if (command.model.version.has_value()) request.set_version(*command.model.version);
  if (command.top_k.has_value()) request.set_top_k(*command.top_k);
  if (command.resolution.has_value()) *request.mutable_resolution() = *command.resolution;
  request.set_priority(command.priority);
  for (const v1::AttentionKind kind : kinds) {
    v1::AttentionRequest& attention = *request.add_attention();
    attention.set_kind(kind);
    // Numbers, not finished pictures: they are a thousandth of the size, the server need not draw, and the original
    // in full is here.
    attention.set_encoding(v1::FLOAT16);
    if (kind == v1::ROLLOUT && kinds.size() > 1) continue;  // has no layer and no head
    attention.mutable_layers()->Add(command.layers.begin(), command.layers.end());
    attention.mutable_heads()->Add(command.heads.begin(), command.heads.end());
  }
  if (!kinds.empty()) request.set_max_attention_bytes(kMaxAttentionBytes);
  return request;
}

// The run over all pictures: reads them, receives their answers, writes rows and overlays.
class Classification {
 public:
  Classification(const ClassifyCommand& command, std::vector<std::string> paths, v1::ClassifyRequest request,
                 ClassifyPage page, std::ostream& out, std::ostream& errors)
      : command_(command),
        paths_(std::move(paths)),
        stems_(DistinctStems(paths_)),
        request_(std::move(request)),
        page_(std::move(page)),
        out_(out),
        errors_(errors) {}

  int Run(Client& client) {
    const absl::Time start = absl::Now();
    const RequestSource next = [this] { return Next(); };
    const ResultSink deliver = [this](size_t index, absl::StatusOr<v1::ClassifyResponse> answer) {
      if (answer.ok()) {
        Show(index, *answer);
      } else {
        Complain(index, answer.status());
      }
    };
    if (paths_.size() == 1) {
      ClassifyOne(client, next, deliver);
    } else if (const absl::Status lost = client.ClassifyMany(next, deliver); !lost.ok() && taken_ < paths_.size()) {
      errors_ << "vitrine: " << Printable(lost.message()) << "; " << paths_.size() - taken_
              << " more pictures were not tried\n";
      failed_ += static_cast<int>(paths_.size() - taken_);
    }
    if (command_.format == Format::kTable) out_ << page_.Footer(absl::Now() - start) << std::flush;
    return failed_;
  }

 private:
  // A unary call carries its deadline to the server; a stream cannot.
  static void ClassifyOne(Client& client, const RequestSource& next, const ResultSink& deliver) {
    const auto request = next();
    deliver(0, request->ok() ? client.Classify(**request) : request->status());
  }

  std::optional<absl::StatusOr<v1::ClassifyRequest>> Next() {
    if (taken_ == paths_.size()) return std::nullopt;
    absl::StatusOr<std::string> bytes = ReadPicture(paths_[taken_++], command_.client.max_request_bytes);
    waiting_.emplace_back();
    if (!bytes.ok()) return bytes.status();
    if (request_.attention_size() > 0) waiting_.back() = *bytes;
    v1::ClassifyRequest request = request_;
    request.set_image(*std::move(bytes));
    return request;
  }

  void Show(size_t index, const v1::ClassifyResponse& answer) {
    absl::StatusOr<std::vector<std::string>> files =
        WriteAttention(command_.attention_folder, stems_[index], waiting_.front(), answer);
    const std::vector<std::string> written = files.ok() ? *files : std::vector<std::string>();
    if (command_.format == Format::kJson) {
      out_ << ClassificationLine(paths_[index], answer, written) << std::flush;
    } else {
      out_ << (headed_ ? "" : page_.Header()) << page_.Picture(paths_[index], answer, written) << std::flush;
      headed_ = true;
    }
    if (!files.ok()) return Complain(index, files.status());
    waiting_.pop_front();
  }

  void Complain(size_t index, const absl::Status& status) {
    errors_ << "vitrine: " << Printable(paths_[index]) << ": " << Printable(status.message()) << std::endl;
    ++failed_;
    waiting_.pop_front();
  }

  const ClassifyCommand& command_;
  const std::vector<std::string> paths_;
  const std::vector<std::string> stems_;
  const v1::ClassifyRequest request_;
  ClassifyPage page_;
  std::ostream& out_;
  std::ostream& errors_;
  size_t taken_ = 0;
  std::deque<std::string> waiting_;  // files of the pictures without an answer, kept only if an overlay needs them
  int failed_ = 0;
  bool headed_ = false;
};

ClassifyPage::Expected ExpectedRows(const ClassifyCommand& command, const std::vector<std::string>& paths,
                                    const v1::ModelVersion& model, const v1::ClassifyRequest& request) {
  ClassifyPage::Expected expected;
  expected.pictures = paths;
  expected.labels.assign(model.labels().begin(), model.labels().end());
  const int classes = std::max(1, model.config().classes());
  expected.predictions = std::clamp(command.top_k.value_or(5), 1, classes);
  if (request.attention_size() != 1 || command.layers.size() > 1 || command.heads.size() > 1) return expected;
  v1::AttentionMap map;  // the only one of each picture
  map.set_kind(request.attention(0).kind());
  map.set_layer(map.kind() == v1::ROLLOUT ? -1 : std::max(0, model.layers() - 1));
  map.set_head(command.heads.empty() ? -1 : command.heads.front());
  for (const std::string& stem : DistinctStems(paths)) {
    const std::string file = (std::filesystem::path(command.attention_folder) / AttentionFileName(stem, map)).string();
    expected.overlay_width = std::max(expected.overlay_width, DisplayWidth(Printable(file)));
  }
  return expected;
}

absl::Status Check(const ClassifyCommand& command) {
  if (command.kinds == std::vector{v1::ROLLOUT} && !(command.layers.empty() && command.heads.empty())) {
    return absl::InvalidArgumentError("a rollout goes over all layers and heads; leave out --layer and --head");
  }
  return absl::OkStatus();
}

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return absl::PermissionDeniedError(absl::StrCat("cannot make the folder ", folder, ": ", error.message()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> RunClassify(const ClassifyCommand& command, const Page& page, std::ostream& out,
                                std::ostream& errors) {
  RETURN_IF_ERROR(Check(command));
  ASSIGN_OR_RETURN(std::vector<std::string> paths, ExpandPaths(command.paths));
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(command.client));
  ASSIGN_OR_RETURN(const v1::ModelVersion model, ChooseModel(*client, command.model));
  ASSIGN_OR_RETURN(const std::vector<v1::AttentionKind> kinds, ChooseKinds(command, model));
  RETURN_IF_ERROR(MakeFolder(command.attention_folder));
  const v1::ClassifyRequest request = RequestFor(command, model, kinds);
  ClassifyPage rows(page, ExpectedRows(command, paths, model, request));
  return Classification(command, std::move(paths), request, std::move(rows), out, errors).Run(*client);
}

absl::StatusOr<ModelChoice> ParseModelChoice(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('@', 1));
  ModelChoice choice{.name = std::string(parts[0]), .version = std::nullopt};
  if (choice.name.empty()) return absl::InvalidArgumentError("a model is named NAME or NAME@VERSION");
  if (parts.size() == 2) {
    int64_t version = 0;
    if (!absl::SimpleAtoi(parts[1], &version) || version < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", parts[1], "\" is no version; versions are positive numbers, as in NAME@3"));
    }
    choice.version = version;
  }
  return choice;
}

absl::StatusOr<v1::ResolutionWish> ParseResolution(absl::string_view text) {
  const std::vector<absl::string_view> sides = absl::StrSplit(text, 'x');
  int32_t height = 0, width = 0;
  const auto fine = [](absl::string_view side, int32_t* pixels) {
    return absl::SimpleAtoi(side, pixels) && *pixels >= 1 && *pixels <= 8192;
  };
  if (sides.size() != 2 || !fine(sides[0], &height) || !fine(sides[1], &width)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no resolution; give HEIGHTxWIDTH in pixels, each 1 to 8192, as in 48x32"));
  }
  v1::ResolutionWish wish;
  wish.set_height(height);
  wish.set_width(width);
  return wish;
}

}  // namespace vitrine
