// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_HTML_FIGURES_H_
#define VITRINE_COMMON_CHARTS_HTML_FIGURES_H_

#include <filesystem>
#include <string_view>

#include "absl/status/status.h"

namespace vitrine {

// Replaces the file of an HtmlPage, and the files of its charts in the folder figures/ beside it: standalone SVG
// documents with a light background, named by their titles, "Loss of every epoch" loss-of-every-epoch.svg. Charts
// without a title have no file. Each file is replaced atomically. FAILED_PRECONDITION: the folder cannot be made; other
// errors of ReplaceFile.
absl::Status WritePage(const std::filesystem::path& file, std::string_view page);

// Removes what WritePage made: the charts that the file has, the folder figures/ if it is then empty, and the file.
void RemovePage(const std::filesystem::path& file);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_HTML_FIGURES_H_
