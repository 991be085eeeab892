// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/grid.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/byte_order_mark.h"
#include "common/first_error.h"
#include "common/status_macros.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

constexpr size_t kMostCells = 10000;
constexpr int kDefaultSeeds = 3;
constexpr int kMostSeeds = 1000;
constexpr size_t kLongestName = 200;  // file systems allow 255 bytes
// Default metrics of image and sequence recipes.
constexpr char kImageMetric[] = "test/top1";
constexpr char kSequenceMetric[] = "test/accuracy";

// One value of an axis (SweepAxis in sweep.proto). It is either one of `values`, which are values of the one field that
// `path` names, or one of `settings`, each of which may set several fields.
struct Entry {
  std::string label;
  std::vector<std::string> assignments;
};
struct Axis {
  std::string name;
  std::vector<Entry> entries;
};

absl::Status Refuse(const std::string& what, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", why));
}

// Returns the FNV-1a hash of a text. Folder names contain the hash, so it must be short, and the same on every machine.
uint32_t HashOf(const std::string& text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

// Returns a folder name similar to `text`. If characters were replaced or cut off, the name ends with a hash of `text`.
std::string FolderName(const std::string& text) {
  std::string name = text;
  for (char& c : name) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                       std::string_view("._-+=,").find(c) != std::string_view::npos;
    if (!plain) c = '_';
  }
  if (name.size() > kLongestName) name.resize(kLongestName);
  if (name != text) absl::StrAppendFormat(&name, "-%08x", HashOf(text));
  return name;
}

std::string LastPart(const std::string& path) {
  return path.substr(path.rfind('.') + 1);
}

bool SetsTheSeed(const std::string& assignment) {
  return assignment.starts_with("seed=");
}

absl::StatusOr<std::vector<Entry>> EntriesOfPath(const v1::SweepAxis& axis, const std::string& what) {
  if (axis.path().empty()) return Refuse(what, "needs a path with values, or settings");
  if (axis.values().empty()) return Refuse(what, "has no values");
  if (!axis.labels().empty() && axis.labels_size() != axis.values_size()) {
    return Refuse(what, absl::StrCat("has ", axis.values_size(), " values and ", axis.labels_size(), " labels"));
  }
  std::vector<Entry> entries;
  for (int i = 0; i < axis.values_size(); ++i) {
    entries.push_back(
        {axis.labels().empty() ? axis.values(i) : axis.labels(i), {absl::StrCat(axis.path(), "=", axis.values(i))}});
  }
  return entries;
}

absl::StatusOr<std::vector<Entry>> EntriesOfSettings(const v1::SweepAxis& axis, const std::string& what) {
  if (!axis.path().empty() || !axis.values().empty() || !axis.labels().empty()) {
    return Refuse(what, "has both settings and a path, values or labels; use only one of the two forms");
  }
  if (axis.name().empty()) return Refuse(what, "has settings, but no name");
  std::vector<Entry> entries;
  for (const v1::SweepSetting& setting : axis.settings()) {
    entries.push_back({setting.label(), {setting.set().begin(), setting.set().end()}});
  }
  return entries;
}

// Reads one axis, and reports its errors before axes are combined.
absl::StatusOr<Axis> ReadAxis(const v1::SweepAxis& proto, int number, const v1::Recipe& recipe) {
  Axis axis;
  axis.name = proto.name().empty() ? LastPart(proto.path()) : proto.name();
  const std::string what = axis.name.empty() ? absl::StrCat("axis ", number) : absl::StrCat("axis \"", axis.name, "\"");
  ASSIGN_OR_RETURN(axis.entries,
                   proto.settings().empty() ? EntriesOfPath(proto, what) : EntriesOfSettings(proto, what));
  std::set<std::string> labels;
  for (const Entry& entry : axis.entries) {
    if (entry.label.empty()) return Refuse(what, "has an entry without a label");
    if (!labels.insert(entry.label).second) return Refuse(what, absl::StrCat("has \"", entry.label, "\" twice"));
    v1::Recipe changed = recipe;
    for (const std::string& assignment : entry.assignments) {
      if (SetsTheSeed(assignment)) return Refuse(what, "sets the seed; give the grid's `seeds` instead");
      if (const absl::Status status = ApplyOverride(assignment, changed); !status.ok()) {
        return Refuse(what, std::string(status.message()));
      }
    }
  }
  return axis;
}

absl::StatusOr<std::vector<uint64_t>> SeedsOf(const v1::Sweep& sweep, uint64_t first) {
  if (!sweep.seeds().empty()) {
    if (sweep.seed_count() != 0) return Refuse("seed_count", "is set together with seeds; set only one");
    std::vector<uint64_t> seeds(sweep.seeds().begin(), sweep.seeds().end());
    if (std::set<uint64_t>(seeds.begin(), seeds.end()).size() != seeds.size())
      return Refuse("seeds", "has a seed twice");
    return seeds;
  }
  const int count = sweep.seed_count() == 0 ? kDefaultSeeds : sweep.seed_count();
  if (count < 1 || count > kMostSeeds) return Refuse("seed_count", absl::StrCat(count, " is not within 1 to 1000"));
  if (first > std::numeric_limits<uint64_t>::max() - static_cast<uint64_t>(count)) {
    return Refuse("seed_count", "the recipe's seed is too large to count up from it; set seeds");
  }
  std::vector<uint64_t> seeds;
  for (int i = 0; i < count; ++i) seeds.push_back(first + static_cast<uint64_t>(i));
  return seeds;
}

// One entry of each axis. Combine returns all combinations; the last axis varies fastest.
using Combination = std::vector<const Entry*>;
absl::StatusOr<std::vector<Combination>> Combine(const std::vector<Axis>& axes, size_t seeds) {
  std::vector<Combination> combinations = {{}};
  for (const Axis& axis : axes) {
    if (combinations.size() * axis.entries.size() * seeds > kMostCells) {
      return absl::InvalidArgumentError(absl::StrCat("the grid has more than ", kMostCells, " runs"));
    }
    std::vector<Combination> longer;
    for (const Combination& combination : combinations) {
      for (const Entry& entry : axis.entries) {
        longer.push_back(combination);
        longer.back().push_back(&entry);
      }
    }
    combinations = std::move(longer);
  }
  return combinations;
}

// Makes the run of a combination and a seed. `recipe` already includes `common`, the assignments that all runs share.
absl::StatusOr<SweepCell> MakeCell(const Combination& combination, const std::vector<std::string>& common,
                                   const std::string& point, uint64_t seed, const v1::Recipe& recipe) {
  SweepCell cell;
  cell.seed = seed;
  cell.name = FolderName(combination.empty() ? absl::StrCat("seed=", seed) : absl::StrCat(point, ",seed=", seed));
  cell.recipe = recipe;
  std::vector<std::string> own;
  for (const Entry* entry : combination) own.insert(own.end(), entry->assignments.begin(), entry->assignments.end());
  own.push_back(absl::StrCat("seed=", seed));
  absl::Status status;
  for (const std::string& assignment : own) status.Update(ApplyOverride(assignment, cell.recipe));
  if (cell.recipe.has_start() && cell.recipe.start().version().empty()) {
    status.Update(absl::InvalidArgumentError(
        "the recipe starts from a version; add set: \"start.version=REPOSITORY/MODEL/VERSION\" to the grid"));
  }
  status.Update(ValidateRecipe(cell.recipe));
  if (!status.ok()) return Refuse(absl::StrCat("run ", cell.name), std::string(status.message()));
  cell.assignments = common;
  cell.assignments.insert(cell.assignments.end(), own.begin(), own.end());
  return cell;
}

}  // namespace

absl::StatusOr<v1::Sweep> ReadSweep(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  // An empty file is checked separately, because operator<< would report it as a failure.
  const bool is_read = in && (in.peek() == EOF ? !in.bad() : static_cast<bool>(text << in.rdbuf()));
  if (!is_read) return absl::NotFoundError(absl::StrCat(file.string(), " cannot be read"));
  v1::Sweep sweep;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(std::string(WithoutByteOrderMark(text.str())), &sweep))
    return Refuse(file.string(), error.message());
  if (sweep.name().empty()) sweep.set_name(file.stem().string());
  // A name with '/' or '.' is a path, as for FindRecipe.
  if (sweep.recipe().find_first_of("/.") != std::string::npos) {
    sweep.set_recipe((std::filesystem::absolute(file).parent_path() / sweep.recipe()).lexically_normal().string());
  }
  return sweep;
}

absl::StatusOr<SweepGrid> ExpandSweep(const v1::Sweep& sweep) {
  if (sweep.recipe().empty()) return Refuse("recipe", "is missing; set the name of a bundled recipe, or a path");
  if (sweep.epochs() < 0) return Refuse("epochs", absl::StrCat(sweep.epochs(), " is below 0"));
  if (!(sweep.margin() >= 0)) return Refuse("margin", absl::StrCat(sweep.margin(), " is below 0"));
  SweepGrid grid{.name = sweep.name(),
                 .description = sweep.description(),
                 .recipe = sweep.recipe(),
                 .metric = sweep.metric(),
                 .lower_is_better = sweep.lower_is_better(),
                 .margin = sweep.margin()};
  ASSIGN_OR_RETURN(v1::Recipe recipe, FindRecipe(sweep.recipe()));
  if (grid.metric.empty()) grid.metric = recipe.has_sequence() ? kSequenceMetric : kImageMetric;
  std::vector<std::string> common(sweep.set().begin(), sweep.set().end());
  if (sweep.epochs() > 0) common.push_back(absl::StrCat("epochs=", sweep.epochs()));
  for (const std::string& assignment : common) {
    const absl::Status status = ApplyOverride(assignment, recipe);
    if (!status.ok()) return Refuse("set", std::string(status.message()));
  }
  std::vector<Axis> axes;
  for (int i = 0; i < sweep.axes_size(); ++i) {
    ASSIGN_OR_RETURN(axes.emplace_back(), ReadAxis(sweep.axes(i), i + 1, recipe));
    if (std::count(grid.axes.begin(), grid.axes.end(), axes.back().name) != 0) {
      return Refuse(absl::StrCat("axis \"", axes.back().name, "\""), "two axes have this name; set the name of one");
    }
    grid.axes.push_back(axes.back().name);
  }
  ASSIGN_OR_RETURN(grid.seeds, SeedsOf(sweep, recipe.seed()));
  ASSIGN_OR_RETURN(const std::vector<Combination> combinations, Combine(axes, grid.seeds.size()));
  std::map<std::string, std::string> experiments;  // key: text of a run's recipe; value: name of the run
  std::set<std::string> folders;
  for (const Combination& combination : combinations) {
    SweepPoint& point = grid.points.emplace_back();
    std::vector<std::string> parts;
    for (size_t i = 0; i < combination.size(); ++i) {
      point.labels.push_back(combination[i]->label);
      parts.push_back(absl::StrCat(axes[i].name, "=", combination[i]->label));
    }
    point.name = parts.empty() ? "recipe" : absl::StrJoin(parts, ",");
    for (const uint64_t seed : grid.seeds) {
      ASSIGN_OR_RETURN(SweepCell cell, MakeCell(combination, common, point.name, seed, recipe));
      cell.point = grid.points.size() - 1;
      const auto [same, is_new] = experiments.emplace(PrintRecipe(cell.recipe), cell.name);
      if (!is_new) {
        return absl::InvalidArgumentError(
            absl::StrCat("runs ", same->second, " and ", cell.name, " are the same experiment"));
      }
      if (!folders.insert(cell.name).second) return Refuse(cell.name, "two runs would share this folder; use labels");
      grid.cells.push_back(std::move(cell));
    }
  }
  return grid;
}

}  // namespace vitrine
