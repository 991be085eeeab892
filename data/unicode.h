// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_UNICODE_H_
#define VITRINE_DATA_UNICODE_H_

#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// The text in Unicode's form NFC, in which names that look alike and differ in composition alone (those of macOS are
// decomposed) are equal. A text that is no UTF-8 stays as it is.
std::string Composed(std::string_view text);

// True if both lists have the same names in the same order, in whatever forms.
bool SameNames(const std::vector<std::string>& a, const std::vector<std::string>& b);

}  // namespace vitrine

#endif  // VITRINE_DATA_UNICODE_H_
