// SPDX-License-Identifier: Apache-2.0
#include "tests/stored_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tests/paths.h"
#include "tests/read_file.h"

namespace vitrine {
namespace {

// Returns the FNV-1a hash.
uint32_t Digest(std::string_view text) {
  uint32_t digest = 2166136261;
  for (const char c : text) digest = (digest ^ static_cast<uint8_t>(c)) * 16777619;
  return digest;
}

}  // namespace

void ExpectStored(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(VITRINE_SOURCE) / "tests/golden/printed" / name;
  if (std::getenv("VITRINE_STORE") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  const std::string stored = ReadFile(path);
  ASSERT_FALSE(stored.empty()) << "no text is stored in " << path << "; VITRINE_STORE=1 stores it";
  EXPECT_EQ(text, stored) << "the text differs from " << path << "; VITRINE_STORE=1 stores the new text";
}

std::string Reading(const std::string& html) {
  std::string reading, drawing;
  bool in_drawing = false, in_style = false;
  for (size_t at = 0; at < html.size();) {
    const size_t tag = html.find('<', at), end = html.find('>', tag);
    if (tag == std::string::npos || end == std::string::npos) break;
    const absl::string_view text = absl::StripAsciiWhitespace(absl::string_view(html).substr(at, tag - at));
    if (!text.empty() && !in_style) absl::StrAppend(&reading, text, "\n");
    const std::string element = html.substr(tag + 1, end - tag - 1);
    if (element.starts_with("svg")) in_drawing = true;
    if (in_drawing) absl::StrAppend(&drawing, element, ";");
    if (element.starts_with("img")) absl::StrAppend(&reading, "[image ", Digest(element), "]\n");
    if (element == "/svg") {
      absl::StrAppend(&reading, "[drawing ", Digest(drawing), "]\n");
      drawing.clear();
      in_drawing = false;
    }
    in_style = element.starts_with("style") || (in_style && element != "/style");
    at = end + 1;
  }
  return reading;
}

}  // namespace vitrine
