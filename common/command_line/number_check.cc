// SPDX-License-Identifier: Apache-2.0
#include "common/command_line/number_check.h"

#include <cmath>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

CLI::Validator NumberCheck(const std::function<bool(double)>& fits, const std::string& wanted) {
  return {[fits, wanted](std::string& text) {
            double number = 0;
            const bool good = CLI::detail::lexical_cast(text, number) && fits(number);
            return good ? std::string() : absl::StrCat("\"", text, "\" is not a number ", wanted);
          },
          ""};
}

}  // namespace

CLI::Validator NumberFrom(double low, double high) {
  return NumberCheck([low, high](double number) { return number >= low && number <= high; },
                     absl::StrCat("from ", low, " to ", high));
}

CLI::Validator PositiveNumber() {
  return NumberCheck([](double number) { return number > 0 && std::isfinite(number); }, "above 0");
}

}  // namespace vitrine
