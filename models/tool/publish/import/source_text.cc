// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/source_text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/sha256.h"

namespace vitrine {
namespace {

constexpr int kImporter = 3;  // increases with each change after which the same files give another version

std::string FirstLine() {
  return absl::StrCat("importer ", kImporter, "\n");
}

}  // namespace

std::string SourceText(const std::vector<ModelFile>& files, const v1::Origin& origin) {
  std::string text =
      absl::StrCat(FirstLine(), "licence ", origin.licence(), "\nweights ", origin.sha256(), " ", origin.url(), "\n");
  for (const ModelFile& file : files) absl::StrAppend(&text, "file ", Sha256Hex(file.json), "\n");
  return text;
}

bool IsOfCommit(const std::string& text, const std::string& pull) {
  constexpr size_t kCommitDigits = 40;
  const size_t colon = pull.find(':'), at = pull.find('@');
  if (colon == std::string::npos || at == std::string::npos) return false;
  const std::string model = pull.substr(colon + 1, at - colon - 1), commit = pull.substr(at + 1);
  return commit.size() == kCommitDigits && commit.find_first_not_of("0123456789abcdef") == std::string::npos &&
         absl::StartsWith(text, FirstLine()) &&
         absl::StrContains(text, absl::StrCat("/", model, "/resolve/", commit, "/"));
}

}  // namespace vitrine
