// SPDX-License-Identifier: Apache-2.0
#include "trainer/tasks/start.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/data/label_map.h"
#include "common/data/relabelled.h"
#include "common/data/unicode.h"
#include "common/status_macros.h"
#include "models/reference/checkpoint/checkpoint.h"
#include "models/reference/checkpoint/stored_tensors.h"
#include "models/reference/operators/position_table.h"
#include "trainer/tasks/start_config.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

std::vector<NamedTensor> TensorsOf(const Module& module) {
  std::vector<NamedTensor> tensors = module.Parameters();
  for (NamedTensor& buffer : module.Buffers()) tensors.push_back(std::move(buffer));
  return tensors;
}

// Returns the grid (grid_rows and grid_columns) of a model's position table; empty if the model has none.
Grid TableGrid(const v1::ModelConfig& config) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  v1::ModelConfig::GetReflection()->ListFields(config, &fields);
  for (const auto* field : fields) {
    if (field->containing_oneof() == nullptr || field->message_type() == nullptr) continue;
    const google::protobuf::Message& family = v1::ModelConfig::GetReflection()->GetMessage(config, field);
    const auto* rows = family.GetDescriptor()->FindFieldByName("grid_rows");
    const auto* columns = family.GetDescriptor()->FindFieldByName("grid_columns");
    if (rows == nullptr || columns == nullptr) continue;
    return {family.GetReflection()->GetInt32(family, rows), family.GetReflection()->GetInt32(family, columns)};
  }
  return {};
}

// Resizes the stored table to the grid of `wanted`. Returns an undefined tensor if the size of a table does not match
// its grid, or if the widths of the two tables differ.
at::Tensor ResizedTable(const at::Tensor& stored, Grid from, const at::Tensor& wanted,
                        const program::TablePosition& position) {
  const Grid to = position.grid;
  const int prefix = position.prefix;
  const auto is_table = [prefix](const at::Tensor& tensor, Grid grid) {
    return tensor.dim() == 2 && grid.cells() > 0 && tensor.size(0) == prefix + grid.cells();
  };
  if (!is_table(stored, from) || !is_table(wanted, to) || stored.size(1) != wanted.size(1)) return {};
  const at::AutoGradMode no_grad(false);
  return TableFor(stored.to(at::kFloat), from, to, prefix, GridInterpolations(from, position.resize));
}

// Returns the settings of the learned positions. If the model has no learned positions, returns default settings, whose
// grid is empty.
program::TablePosition PositionOf(const program::Program& program) {
  for (const program::Operator& op : program.operators()) {
    if (const auto* position = op.As<program::TablePosition>()) return *position;
  }
  return {};
}

// Returns the names of at most eight versions: "digits/1, digits/2, shoes/1".
std::string InWords(const std::vector<VersionId>& versions) {
  const size_t shown = std::min<size_t>(versions.size(), 8);
  const auto name = [](std::string* out, const VersionId& id) { absl::StrAppend(out, id.model, "/", id.version); };
  return absl::StrCat(absl::StrJoin(versions.begin(), versions.begin() + shown, ", ", name),
                      shown < versions.size() ? ", ..." : "");
}

}  // namespace

absl::StatusOr<StoredVersion> ReadVersionAt(const std::string& folder) {
  fs::path path = fs::path(folder).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  VersionId id;
  fs::path root = path.parent_path();
  const bool names_number = absl::SimpleAtoi(path.filename().string(), &id.version) && !root.filename().empty();
  if (names_number) {
    id.model = root.filename();
    root = root.parent_path();
  } else {
    id.model = path.filename();
  }
  if (root.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", folder,
                                                   "\" names no version; write REPOSITORY/MODEL or "
                                                   "REPOSITORY/MODEL/VERSION"));
  }
  std::error_code ignored;
  if (!fs::is_directory(root, ignored)) {
    return absl::NotFoundError(absl::StrCat("\"", folder, "\" names no version; missing repository: ", root.string()));
  }
  ASSIGN_OR_RETURN(const std::vector<VersionId> versions, ListVersions(root));
  for (const VersionId& version : versions) {
    if (!names_number && version.model == id.model) id.version = std::max(id.version, version.version);
  }
  if (std::find(versions.begin(), versions.end(), id) == versions.end()) {
    return absl::NotFoundError(
        absl::StrCat(root.string(), " has no version of ", id.model,
                     names_number ? absl::StrCat(" with the number ", id.version) : "",
                     versions.empty() ? "; it is empty" : absl::StrCat("; it has ", InWords(versions))));
  }
  return ReadVersion(root, id);
}

absl::StatusOr<std::unique_ptr<Dataset>> OrderAsStart(const v1::Recipe& recipe, std::unique_ptr<Dataset> data) {
  if (!recipe.has_start() || recipe.start().replace_head()) return data;
  ASSIGN_OR_RETURN(const StoredVersion start, ReadVersionAt(recipe.start().version()));
  if (SameNames(start.labels, data->labels()) || start.labels.size() != data->labels().size()) return data;
  absl::StatusOr<LabelMatch> match = MatchLabels(data->labels(), start.labels);
  if (!match.ok() || match->by_number || !match->unknown.empty()) return data;
  if (std::set<int32_t>(match->classes.begin(), match->classes.end()).size() != start.labels.size()) return data;
  return MakeRelabelled(std::move(data), std::move(match->classes), start.labels);
}

absl::StatusOr<std::set<std::string>> HeadOf(v1::ModelConfig config) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, MakeModel(config, 0, at::kMeta));
  config.set_classes(config.classes() + 1);
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> other, MakeModel(config, 0, at::kMeta));
  const std::vector<NamedTensor> ours = model->Parameters(), others = other->Parameters();
  std::set<std::string> head;
  for (size_t i = 0; i < ours.size(); ++i) {
    if (ours[i].tensor.sizes() != others[i].tensor.sizes()) head.insert(ours[i].name);
  }
  return head;
}

absl::Status StartFrom(const StoredVersion& version, bool replace_head, Model& model) {
  std::set<std::string> head;
  if (replace_head) {
    ASSIGN_OR_RETURN(head, HeadOf(model.config()));
  }
  const std::string source = NameOf(version.manifest);
  const Grid from = TableGrid(version.manifest.config());
  const program::TablePosition position = PositionOf(model.program());
  const at::AutoGradMode no_grad(false);
  for (const NamedTensor& wanted : TensorsOf(model)) {
    if (head.contains(wanted.name)) continue;
    const auto stored = version.weights.tensors.find(wanted.name);
    if (stored == version.weights.tensors.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("start.version: ", source, " has no tensor ", wanted.name, "; it is another kind of model"));
    }
    at::Tensor values = TensorOf(stored->second);
    if (values.sizes() != wanted.tensor.sizes()) {
      values = ResizedTable(values, from, wanted.tensor, position);
    }
    if (!values.defined()) {
      return absl::FailedPreconditionError(
          absl::StrCat("start.version: ", source, " has ", wanted.name, " of shape [",
                       absl::StrJoin(stored->second.shape, ", "), "], the model needs [",
                       absl::StrJoin(wanted.tensor.sizes(), ", "), "]; for other classes set start.replace_head"));
    }
    wanted.tensor.copy_(values);
  }
  return absl::OkStatus();
}

}  // namespace vitrine
