// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/zoo.h"

#include <google/protobuf/util/message_differencer.h>

#include <cmath>
#include <iostream>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "models/repository/repository.h"
#include "models/workload/conventions.h"
#include "models/workload/workload.h"
#include "models/zoo.h"
#include "models/zoo/published.h"

namespace vitrine {
namespace {

// Accuracy measured for a published version.
struct Measured {
  double top1 = 0;
  std::string what;  // "test 40x40, kv-pos-mnist/1"
};

// Returns true if the configs have the same number of channels and are equal except for their preprocessing, which
// training may change.
bool SameSizes(v1::ModelConfig a, v1::ModelConfig b) {
  if (a.preprocessing().channels() != b.preprocessing().channels()) return false;
  a.clear_preprocessing();
  b.clear_preprocessing();
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

std::optional<Measured> BestOf(const std::vector<v1::Manifest>& manifests, const v1::ModelConfig& config) {
  std::optional<Measured> best;
  for (const v1::Manifest& manifest : manifests) {
    if (!SameSizes(manifest.config(), config)) continue;
    for (const v1::Metric& metric : manifest.provenance().metrics()) {
      if (metric.name() != "top1" || (best && best->top1 >= metric.value())) continue;
      best = {metric.value(), absl::StrCat(metric.split(), ", ", manifest.model(), "/", manifest.version())};
    }
  }
  return best;
}

std::string ResolutionPolicy(const v1::Preprocessing& preprocessing) {
  if (preprocessing.has_fixed()) {
    return absl::StrCat("fixed ", preprocessing.fixed().height(), "x", preprocessing.fixed().width());
  }
  const v1::NativeResolution& native = preprocessing.native();
  return absl::StrCat("native ", native.cell(), " px, ", native.min_tokens(), "-", native.max_tokens());
}

// Returns the name of the paper in ZooRow::source: "EIT" for "EIT, Table 4: LSRA".
std::string PaperOf(std::string_view source) {
  for (const std::string_view paper : {"QKV embedding", "XCiT", "EIT", "X-ViT", "ViT", "KV transformer"}) {
    if (source.starts_with(paper)) return std::string(paper);
  }
  return std::string(source.substr(0, source.find(',')));
}

// Returns the cell for a fraction that a paper prints. Tables show the paper's digits; other formats have the number.
Cell Printed(std::string_view digits) {
  if (digits.empty()) return Cell::Nothing();
  const std::string text(digits);
  return Cell::Number(std::stod(text), text);
}

// Returns a printed count, for instance "4.108" with `unit` 1e6. The count is rounded, since binary fractions cannot
// represent the digits exactly.
Cell PrintedCount(std::string_view digits, double unit) {
  if (digits.empty()) return Cell::Nothing();
  const std::string text(digits);
  return {int64_t{std::llround(std::stod(text) * unit)}, text};
}

Cell Giga(int64_t count) {
  return {count, absl::StrFormat("%.4f", static_cast<double>(count) / 1e9)};
}

struct Flops {
  Cell ours = Cell::Nothing();  // counted by the paper's convention
  std::string_view convention;
};

Flops FlopsOf(const Published& published, const Workload& workload) {
  switch (published.convention) {
    case FlopConvention::kMacs:
      return {Giga(Macs(workload)), "multiply-adds"};
    case FlopConvention::k001:
      return {Giga(Flops001(workload)), "EIT: 2 per multiply-add, costs per element"};
    case FlopConvention::kNone:
      break;
  }
  return {};
}

DataTable EmptyTable() {
  return DataTable({{"name", "NAME"},
                    {"parameters", "PARAMETERS", true},
                    {"macs", "GMACS", true},
                    {"executed_macs", "", true},
                    {"kind", ""},
                    {"paper", "PAPER"},
                    {"input", ""},
                    {"tokens", "TOKENS", true},
                    {"resolution", "RESOLUTION"},
                    {"published_parameters", "PRINTED M", true},
                    {"published_flops", "PRINTED G", true},
                    {"flops", "OURS", true},
                    {"flop_convention", ""},
                    {"published_accuracy", "PRINTED %", true},
                    {"published_data", "ON"},
                    {"measured_accuracy", "OURS %", true},
                    {"measured_on", ""},
                    {"source", ""},
                    {"remark", ""}});
}

absl::Status AddClassifier(const ZooRow& row, const std::vector<v1::Manifest>& manifests, DataTable& table) {
  const Published published = FindPublished(row.name).value_or(Published());
  WorkloadInput input = DefaultInput(row.config);
  if (published.side > 0) input.height = input.width = published.side;
  ASSIGN_OR_RETURN(const Workload workload, WorkloadOf(row.config, input, Form::kPublished));
  ASSIGN_OR_RETURN(const Workload executed, WorkloadOf(row.config, input, Form::kExecuted));
  const Flops flops = FlopsOf(published, workload);
  const std::optional<Measured> measured = BestOf(manifests, row.config);
  table.Add(
      {Cell::Text(row.name), Cell::Count(row.parameters), Giga(Macs(workload)), Giga(Macs(executed)),
       Cell::Text("classifier"), Cell::Text(PaperOf(row.source)),
       Cell::Text(absl::StrCat(input.height, "x", input.width)), Cell::Count(TokensOf(row.config, input)),
       Cell::Text(ResolutionPolicy(row.config.preprocessing())), PrintedCount(published.parameters, 1e6),
       PrintedCount(published.flops, 1e9), flops.ours, Cell::Text(flops.convention), Printed(published.accuracy),
       Cell::Text(published.data),
       measured ? Cell::Number(100 * measured->top1, absl::StrFormat("%.2f", 100 * measured->top1)) : Cell::Nothing(),
       Cell::Text(measured ? measured->what : ""), Cell::Text(row.source), Cell::Text(published.remark)});
  return absl::OkStatus();
}

}  // namespace

absl::Status ZooCommand(const std::string& repository, OutputFormat format) {
  std::vector<v1::Manifest> manifests;
  if (!repository.empty()) {
    ASSIGN_OR_RETURN(const std::vector<VersionId> ids, ListVersions(repository));
    for (const VersionId& id : ids) {
      ASSIGN_OR_RETURN(manifests.emplace_back(), ReadManifest(repository, id));
    }
  }
  DataTable table = EmptyTable();
  for (const ZooRow& row : Zoo()) RETURN_IF_ERROR(AddClassifier(row, manifests, table));
  std::cout << table.Print(format);
  return absl::OkStatus();
}

}  // namespace vitrine
