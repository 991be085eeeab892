// SPDX-License-Identifier: Apache-2.0
#include "data/digest.h"

#include <openssl/sha.h>

#include <algorithm>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

std::string LineOf(const Dataset& data, int64_t index) {
  return absl::StrCat(data.name(index), "\t", data.label(index), "\n");
}

std::string Sha256(const std::string& all) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(all.data()), all.size(), digest);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), sizeof digest));
}

}  // namespace

std::string DigestOf(const Dataset& data) {
  std::vector<std::string> lines;
  for (int64_t i = 0; i < data.size(); ++i) lines.push_back(LineOf(data, i));
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  std::string all;
  for (const std::string& line : lines) all += line;
  return Sha256(all);
}

std::string OrderedDigestOf(const Dataset& data) {
  std::string all;
  for (int64_t i = 0; i < data.size(); ++i) all += LineOf(data, i);
  return Sha256(all);
}

}  // namespace vitrine
