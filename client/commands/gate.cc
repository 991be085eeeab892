// SPDX-License-Identifier: Apache-2.0
#include "client/commands/gate.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace vitrine {
namespace {

std::string ListOf(std::span<const GateMeasure> measures) {
  return absl::StrJoin(measures, ", ",
                       [](std::string* out, const GateMeasure& measure) { absl::StrAppend(out, measure.name); });
}

// Returns an example of a gate, quoted for a shell.
std::string Example(const GateMeasure& measure) {
  switch (measure.unit) {
    case GateUnit::kShare:
      return absl::StrCat("'", measure.name, ">=0.78'");
    case GateUnit::kNumber:
      return absl::StrCat("'", measure.name, "<=0.65'");
    case GateUnit::kDuration:
      return absl::StrCat("'", measure.name, "<=50ms'");
    case GateUnit::kRate:
      return absl::StrCat("'", measure.name, ">=200'");
  }
  return "";
}

// Parses a finite bound of at least 0. The percentage 0.07 is parsed as "0.07e-2", because 0.07 / 100 is not the double
// nearest to 0.0007.
bool ParseBound(absl::string_view digits, const char* exponent, double& bound) {
  const bool plain = digits.find_first_not_of("0123456789.") == absl::string_view::npos;
  return (plain || *exponent == '\0') && absl::SimpleAtod(absl::StrCat(digits, exponent), &bound) &&
         std::isfinite(bound) && bound >= 0;
}

// Parses the bound of a measure. Returns the error as the end of a sentence, or "" if there is no error.
std::string ReadBound(absl::string_view text, Gate& gate) {
  switch (gate.unit) {
    case GateUnit::kShare: {
      const bool percent = absl::ConsumeSuffix(&text, "%");
      const absl::string_view digits = absl::StripTrailingAsciiWhitespace(text);
      if (ParseBound(digits, percent ? "e-2" : "", gate.bound) && gate.bound <= 1) return "";
      return "is no share; give 0 to 1, as in 0.78, or 0% to 100%, as in 78%";
    }
    case GateUnit::kNumber:
      return ParseBound(text, "", gate.bound) ? "" : "is no number of at least 0; give one as in 0.65";
    case GateUnit::kRate:
      absl::ConsumeSuffix(&text, "/s");
      return ParseBound(text, "", gate.bound) ? "" : "is no rate; give a number per second, as in 200";
    case GateUnit::kDuration: {
      absl::Duration duration;
      const bool parsed = absl::ParseDuration(text, &duration) && duration > absl::ZeroDuration() &&
                          duration < absl::InfiniteDuration();
      gate.bound = absl::ToDoubleSeconds(duration);
      return parsed ? "" : "is no duration; give a number with a unit, as in 50ms or 1.5s";
    }
  }
  return "";
}

}  // namespace

bool GateResult::passed() const {
  if (!measured.has_value()) return false;
  if (*measured == gate.bound) return !gate.is_strict;
  return gate.is_least ? *measured > gate.bound : *measured < gate.bound;
}

absl::StatusOr<Gate> ParseGate(absl::string_view text, std::span<const GateMeasure> measures) {
  const auto wrong = [&](const std::string& why) {
    return absl::InvalidArgumentError(absl::StrCat(why, "; measures: ", ListOf(measures)));
  };
  const size_t at = text.find_first_of("<>");
  if (at == absl::string_view::npos) {
    return wrong(absl::StrCat("\"", text,
                              "\" is no gate: give a measure, one of >=, >, <=, <, and a bound, in quotes, as in ",
                              Example(measures.front()), " (without quotes a shell reads < and > as redirections)"));
  }
  Gate gate;
  gate.measure = std::string(absl::StripAsciiWhitespace(text.substr(0, at)));
  const auto known = std::ranges::find(measures, gate.measure, &GateMeasure::name);
  if (known == measures.end()) {
    return wrong(absl::StrCat("\"", gate.measure, "\" in the gate \"", text, "\" is no measure of this command"));
  }
  gate.unit = known->unit;
  gate.is_least = text[at] == '>';
  absl::string_view bound = text.substr(at + 1);
  gate.is_strict = !absl::ConsumePrefix(&bound, "=");
  bound = absl::StripAsciiWhitespace(bound);
  gate.demand = absl::StrCat(gate.is_least ? ">" : "<", gate.is_strict ? "" : "=", bound);
  if (const std::string fault = ReadBound(bound, gate); !fault.empty()) {
    return wrong(absl::StrCat("\"", bound, "\" in the gate \"", text, "\" ", fault));
  }
  return gate;
}

bool AllPassed(std::span<const GateResult> gates) {
  return std::ranges::all_of(gates, &GateResult::passed);
}

}  // namespace vitrine
