// SPDX-License-Identifier: Apache-2.0
#include "client/commands/models/models_command.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/commands/models/model_page.h"
#include "client/commands/output/json_lines.h"
#include "client/commands/output/names.h"
#include "client/commands/output/table.h"
#include "client/commands/output/text.h"
#include "common/drawing/attention_words.h"
#include "common/drawing/input_words.h"
#include "common/drawing/licence_words.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr size_t kAttention = 9;   // index of the flowing column (see Table)
constexpr int kLicenceWidth = 20;  // maximum terminal columns of a licence

// Returns the first top-1 accuracy in the provenance and the split on which it was measured.
std::string Accuracy(const v1::Provenance& provenance) {
  for (const v1::Metric& metric : provenance.metrics()) {
    if (metric.name() == "top1") return absl::StrFormat("%.1f %% %s", 100 * metric.value(), Printable(metric.split()));
  }
  return "";
}

// Returns the kinds of features with their widths: "class, mean, patches of 250" or "projection of 512, class, mean,
// patches of 768".
std::string Features(const v1::ModelVersion& version) {
  std::vector<std::string> kinds;
  for (const int number : version.feature_kinds()) {
    const auto kind = static_cast<v1::FeatureKind>(number);
    const std::string own = kind == v1::PROJECTION ? absl::StrCat(" of ", version.config().vit().projection()) : "";
    kinds.push_back(FeatureKindName(kind) + own);
  }
  return kinds.empty() ? "" : absl::StrCat(absl::StrJoin(kinds, ", "), " of ", version.feature_width());
}

// Returns labels and traffic of a version: "canary, 5 % of the requests". Empty for a version that is only `stable` and
// gets all requests.
std::string Serves(const v1::ModelVersion& version) {
  const bool alone = version.version_labels_size() == 1 && version.version_labels(0) == "stable";
  if (alone && version.traffic_percent() == 100) return "";
  if (version.version_labels().empty() && version.traffic_percent() == 0) return "";
  const std::string labels = Printable(absl::StrJoin(version.version_labels(), ", "));
  return absl::StrCat(labels, labels.empty() ? "" : ", ",
                      absl::StrFormat("%g %% of the requests", version.traffic_percent()));
}

Style StyleOf(v1::ModelState state) {
  return state == v1::READY ? Style::kPlain : state == v1::FAILED ? Style::kStrong : Style::kFaint;
}

Row RowOf(const v1::ModelVersion& version) {
  const bool known = version.has_config();  // absent until the server has read the manifest
  Row row;
  row.cells = {{Printable(version.model()), Style::kStrong},
               {absl::StrCat(version.version())},
               {ModelStateName(version.state()), StyleOf(version.state())},
               {known ? InputDescription(version.config()) : ""},
               {known ? WithCommas(version.parameters()) : ""},
               {known ? WithCommas(version.config().classes()) : ""},
               {Accuracy(version.provenance())},
               {CutEnd(Printable(LicenceOf(version.provenance())), kLicenceWidth)},
               {Features(version)},
               {}};
  for (const v1::AttentionOffer& offer : version.attention()) row.flow.push_back({OfferName(offer)});
  if (const std::string serves = Serves(version); !serves.empty()) row.notes.push_back({serves, Style::kFaint});
  if (!version.reason().empty()) row.notes.push_back({Printable(version.reason()), Style::kStrong});
  return row;
}

}  // namespace

std::string ModelsTable(const v1::ListModelsResponse& list, const Page& page) {
  using enum Column::Align;
  std::vector<Column> columns = {{"model"},
                                 {"version", 0, kRight},
                                 {"state"},
                                 {"input"},
                                 {"parameters", 0, kRight},
                                 {"classes", 0, kRight},
                                 {"accuracy"},
                                 {"licence"},
                                 {"features"},
                                 {"attention"}};
  std::vector<Row> rows;
  for (const v1::ModelVersion& version : list.versions()) {
    rows.push_back(RowOf(version));
    for (size_t i = 0; i < columns.size(); ++i) {
      columns[i].width = std::max(columns[i].width, DisplayWidth(rows.back().cells[i].text));
    }
    int flow = 0;
    for (const Item& item : rows.back().flow) flow += DisplayWidth(item.text) + 2;
    columns[kAttention].width = std::max(columns[kAttention].width, flow - 2);
  }
  const Table table(page, columns, kAttention);
  std::string text = table.Header();
  for (const Row& row : rows) text += table.Render(row);
  return text;
}

absl::Status RunModels(const ClientOptions& options, Format format, const Page& page, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(options));
  ASSIGN_OR_RETURN(const v1::ListModelsResponse list, client->ListModels());
  if (format == Format::kJson) {
    for (const v1::ModelVersion& version : list.versions()) out << ModelLine(version);
  } else {
    if (!list.versions().empty()) out << ModelsTable(list, page);
  }
  if (!list.versions().empty()) return absl::OkStatus();
  return absl::NotFoundError("the server has no models; if it should have some, its /readyz and its log say why");
}

absl::Status RunModelShow(const ClientOptions& options, const ModelChoice& choice, Format format, const Page& page,
                          std::ostream& out) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(options));
  ASSIGN_OR_RETURN(const v1::ModelVersion version, ChooseModel(*client, choice));
  if (!IsLookedUp(version)) {
    return absl::PermissionDeniedError(absl::StrCat("this caller may classify with model \"", version.model(),
                                                    "\" but not look it up; its policy must allow "
                                                    "/vitrine.v1.Registry/GetModel"));
  }
  out << (format == Format::kJson ? ModelDetailLine(version) : ModelPage(version, page));
  return absl::OkStatus();
}

}  // namespace vitrine
