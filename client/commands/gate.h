// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_GATE_H_
#define VITRINE_CLIENT_COMMANDS_GATE_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace vitrine {

// A gate (--require) is a bound on a measure of a run. If a run misses a gate, the command exits with code 1.

// Unit of a measure, and the syntax of its bound.
enum class GateUnit {
  kShare,     // 0 to 1: "0.78" or "78%"
  kNumber,    // 0 or more: "0.65"
  kDuration,  // seconds: "50ms", in the syntax of absl::ParseDuration
  kRate,      // per second: "200" or "200/s"
};

struct GateMeasure {
  const char* name;
  GateUnit unit;
};

struct Gate {
  std::string measure = {};
  std::string demand = {};  // operator and bound as given: ">=78%"
  GateUnit unit = GateUnit::kNumber;
  bool is_least = true;    // true: lower bound; false: upper bound
  bool is_strict = false;  // true: a value equal to the bound fails
  double bound = 0;        // in the measure's unit
};

// A gate and its result.
struct GateResult {
  Gate gate;
  std::optional<double> measured = {};  // nullopt: no value; the gate fails
  std::string remark = {};              // reason for nullopt, or another remark; may be empty
  bool passed() const;
};

// Parses a gate such as "top1>=78%": a name in `measures`, then an operator (>=, >, <= or <), then a bound.
// INVALID_ARGUMENT: the text is no gate; the message gives the syntax and the measures.
absl::StatusOr<Gate> ParseGate(absl::string_view text, std::span<const GateMeasure> measures);

bool AllPassed(std::span<const GateResult> gates);

// Describes a missed gate: "the gate top1>=78% is missed: top1 is 76.34 %, and 78 % or more is required".
std::string MissInWords(const GateResult& result);
// Returns the measured value, such as "76.34 %", or "not known". A remark follows in parentheses: "(no image was
// answered)".
std::string MeasuredText(const GateResult& result);
// Returns one line per gate for a terminal; empty without gates.
std::string GatesText(std::span<const GateResult> gates);
// Returns an array of gates. Each has `name`, `required` (as given), `bound`, `measured` (null: no value), `unit` (of
// `bound` and `measured`), `passed`, and `remark` if there is one. Durations are in milliseconds.
nlohmann::ordered_json GatesJson(std::span<const GateResult> gates);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_GATE_H_
