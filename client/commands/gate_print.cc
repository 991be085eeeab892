// SPDX-License-Identifier: Apache-2.0
// Results of gates as text and JSON.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/commands/gate.h"

namespace vitrine {
namespace {

// Formats with six digits, so that a value just below a bound does not look equal to it.
std::string ValueText(GateUnit unit, double value) {
  switch (unit) {
    case GateUnit::kShare:
      return absl::StrFormat("%.6g %%", 100 * value);
    case GateUnit::kNumber:
      return absl::StrFormat("%.6g", value);
    case GateUnit::kDuration:
      return absl::StrFormat("%.6g ms", 1000 * value);
    case GateUnit::kRate:
      return absl::StrFormat("%.6g/s", value);
  }
  return "";
}

// Returns the required value as text: "78 % or more".
std::string DemandText(const Gate& gate) {
  const std::string bound = ValueText(gate.unit, gate.bound);
  if (gate.is_strict) return absl::StrCat(gate.is_least ? "more than " : "less than ", bound);
  return absl::StrCat(bound, gate.is_least ? " or more" : " or less");
}

const char* UnitName(GateUnit unit) {
  switch (unit) {
    case GateUnit::kShare:
      return "share";
    case GateUnit::kNumber:
      return "number";
    case GateUnit::kDuration:
      return "ms";
    case GateUnit::kRate:
      return "1/s";
  }
  return "";
}

}  // namespace

std::string MeasuredText(const GateResult& result) {
  const std::string remark = result.remark.empty() ? "" : absl::StrCat(" (", result.remark, ")");
  return result.measured.has_value() ? absl::StrCat(ValueText(result.gate.unit, *result.measured), remark)
                                     : absl::StrCat("not known", remark);
}

std::string MissInWords(const GateResult& result) {
  const Gate& gate = result.gate;
  return absl::StrCat("the gate ", gate.measure, gate.demand, " is missed: ", gate.measure, " is ",
                      MeasuredText(result), ", and ", DemandText(gate), " is required");
}

std::string GatesText(std::span<const GateResult> gates) {
  std::string text;
  for (const GateResult& result : gates) {
    absl::StrAppend(&text, "gate        ", result.gate.measure, result.gate.demand, " is ",
                    result.passed() ? "met: " : "missed: ", MeasuredText(result), "\n");
  }
  return text;
}

nlohmann::ordered_json GatesJson(std::span<const GateResult> gates) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const GateResult& result : gates) {
    const Gate& gate = result.gate;
    const double scale = gate.unit == GateUnit::kDuration ? 1000 : 1;
    nlohmann::ordered_json& one = json.emplace_back();
    one = {{"name", gate.measure},
           {"required", gate.demand},
           {"bound", scale * gate.bound},
           {"measured", result.measured ? nlohmann::ordered_json(scale * *result.measured) : nullptr},
           {"unit", UnitName(gate.unit)},
           {"passed", result.passed()}};
    if (!result.remark.empty()) one["remark"] = result.remark;
  }
  return json;
}

}  // namespace vitrine
