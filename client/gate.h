// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_GATE_H_
#define VITRINE_CLIENT_GATE_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace vitrine {

// What --require demands of a run: a bound on one of its measures. A run that misses it ends with exit code 1, so that
// CI can stand on it.

// What a measure is counted in, and how its bound is written.
enum class GateUnit {
  kShare,     // 0 to 1: "0.78" or "78%"
  kNumber,    // 0 or more: "0.65"
  kDuration,  // seconds: "50ms", as absl::ParseDuration takes it
  kRate,      // a second: "200" or "200/s"
};

struct GateMeasure {
  const char* name;
  GateUnit unit;
};

struct Gate {
  std::string measure = {};
  std::string demand = {};  // operator and bound, the latter as it was given: ">=78%"
  GateUnit unit = GateUnit::kNumber;
  bool is_least = true;    // the measure must reach the bound; otherwise it must not exceed it
  bool is_strict = false;  // nor be equal to it
  double bound = 0;        // in the measure's unit
};

// A gate and what came of it.
struct GateResult {
  Gate gate;
  std::optional<double> measured = {};  // nullopt: there is no such value, which passes no gate
  std::string remark = {};              // why there is none, or what else to know about it; may be empty
  bool passed() const;
};

// "top1>=78%": one of these measures, one of >=, >, <=, <, and a bound. INVALID_ARGUMENT: anything else, with the form
// and the list of measures.
absl::StatusOr<Gate> ParseGate(absl::string_view text, std::span<const GateMeasure> measures);

bool AllPassed(std::span<const GateResult> gates);

// Of a gate that was missed: "the gate top1>=78% is missed: top1 is 76.34 %, and 78 % or more is required".
std::string MissInWords(const GateResult& result);
// "76.34 %", with the remark in brackets; "not known (no picture was answered)".
std::string MeasuredText(const GateResult& result);
// A line for each gate, for people; empty without gates.
std::string GatesText(std::span<const GateResult> gates);
// For programs: `name`, `required` (as it was given), `bound`, `measured` (null: there is no such value), `unit` of
// both, `passed`, and `remark` where there is one. Durations are milliseconds.
nlohmann::ordered_json GatesJson(std::span<const GateResult> gates);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_GATE_H_
