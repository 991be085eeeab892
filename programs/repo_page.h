#ifndef VITRINE_PROGRAMS_REPO_PAGE_H_
#define VITRINE_PROGRAMS_REPO_PAGE_H_

#include <string>
#include <vector>

#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// How vitrine-repo shows manifests. Text from a manifest is printed with its control characters escaped.

// A line per version under a header: model, version, parameters, size, creation, measured accuracy.
std::string ManifestsAsTable(const std::vector<v1::Manifest>& manifests);
// The same as one JSON array.
std::string ManifestsAsJson(const std::vector<v1::Manifest>& manifests);
// One version in full.
std::string ManifestAsPage(const v1::Manifest& manifest);

// 1234567 as "1,234,567".
std::string WithSeparators(int64_t number);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_REPO_PAGE_H_
