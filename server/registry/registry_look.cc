// SPDX-License-Identifier: Apache-2.0
// Steps of a poll that look at folders: retries after a finished copy, and warnings about links.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/observe/log.h"
#include "server/process/text_file.h"
#include "server/registry/registry.h"

namespace vitrine {

std::string Registry::FolderStamp(const VersionId& id) const {
  std::vector<std::string> files;
  std::error_code error;
  const std::filesystem::path folder = options_.root / id.model / std::to_string(id.version);
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    files.push_back(absl::StrCat(entry->path().filename().native(), " ", FileStamp(entry->path())));
  }
  std::sort(files.begin(), files.end());
  return absl::StrJoin(files, "\n");
}

void Registry::RetryChanged() {
  std::map<VersionId, std::string> looked_at;
  for (const VersionStatus& status : List()) {
    if (status.id.version == kWholeModel || (status.state != v1::FAILED && status.reason.empty())) continue;
    looked_at[status.id] = FolderStamp(status.id);
  }
  for (const auto& [id, stamp] : looked_at) {
    const auto before = looked_at_.find(id);
    if (before == looked_at_.end() || before->second != stamp) continue;
    const std::vector<KnownVersion> known = table_.Known(id.model);
    const bool waits =
        std::any_of(known.begin(), known.end(), [&, &id = id, &stamp = stamp](const KnownVersion& version) {
          return version.status.id == id && version.failures > 0 && version.retry_at > clock_.Now() &&
                 version.refused != stamp;
        });
    if (waits) table_.Change(id, [](KnownVersion& version) { version.retry_at = absl::InfinitePast(); });
  }
  looked_at_ = std::move(looked_at);
}

void Registry::PrintLinks(const std::vector<std::string>& links) {
  for (const std::string& link : links) {
    if (!links_told_.contains(link)) spdlog::warn("{}", PassedOver(link));
  }
  links_told_ = std::set<std::string>(links.begin(), links.end());
}

}  // namespace vitrine
