// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_UNICODE_H_
#define VITRINE_COMMON_DATA_UNICODE_H_

#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// Converts text to Unicode form NFC, so that names that differ only in composition become equal (macOS decomposes file
// names). Invalid UTF-8 is returned unchanged.
std::string Composed(std::string_view text);

// Converts text to Unicode form NFD; otherwise like Composed.
std::string Decomposed(std::string_view text);

// Remove blanks at both ends, or at the end only. Blanks are ASCII white space, and the invisible characters of Unicode
// with which texts from spreadsheets and web pages often begin or end, such as the no-break space (U+00A0).
std::string_view WithoutBlanks(std::string_view text);
std::string_view WithoutTrailingBlanks(std::string_view text);

// Returns true if both lists have the same names in the same order; Unicode forms may differ.
bool SameNames(const std::vector<std::string>& a, const std::vector<std::string>& b);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_UNICODE_H_
