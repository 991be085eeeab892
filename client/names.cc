#include "client/names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

struct KindRow {
  v1::AttentionKind kind;
  const char* name;
  bool spatial;
};
constexpr KindRow kKinds[] = {
    {v1::CLASS_TOKEN_ROW, "class", true}, {v1::MEAN_OVER_QUERIES, "mean", true}, {v1::ROLLOUT, "rollout", true},
    {v1::SCORES, "scores", false},        {v1::WEIGHTS, "weights", false},
};

}  // namespace

std::string AttentionKindName(v1::AttentionKind kind) {
  for (const KindRow& row : kKinds) {
    if (row.kind == kind) return row.name;
  }
  // A newer server may have kinds that this program has no word for.
  const std::string& name = v1::AttentionKind_Name(kind);
  return name.empty() ? absl::StrCat("kind-", static_cast<int>(kind)) : absl::AsciiStrToLower(name);
}

std::optional<v1::AttentionKind> AttentionKindOf(absl::string_view name) {
  for (const KindRow& row : kKinds) {
    if (name == row.name) return row.kind;
  }
  return std::nullopt;
}

const std::vector<std::string>& AttentionKindNames() {
  static const auto* const names = [] {
    auto* all = new std::vector<std::string>;
    for (const KindRow& row : kKinds) all->push_back(row.name);
    return all;
  }();
  return *names;
}

bool IsSpatial(v1::AttentionKind kind) {
  for (const KindRow& row : kKinds) {
    if (row.kind == kind) return row.spatial;
  }
  return false;
}

std::string ModelStateName(v1::ModelState state) {
  const std::string& name = v1::ModelState_Name(state);
  return name.empty() ? "unknown" : absl::AsciiStrToLower(name);
}

std::string InputDescription(const v1::ModelConfig& config) {
  const v1::Preprocessing& input = config.preprocessing();
  const char* colour = input.channels() == 1 ? "grey" : "RGB";
  if (input.has_fixed()) return absl::StrCat(input.fixed().height(), "x", input.fixed().width(), " ", colour);
  if (!input.has_native()) return colour;
  const v1::NativeResolution& native = input.native();
  return absl::StrCat(native.min_tokens(), " to ", native.max_tokens(), " tokens of ", native.cell(), "x",
                      native.cell(), " ", colour);
}

}  // namespace vitrine
