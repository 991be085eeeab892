// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_HTML_FIGURES_H_
#define VITRINE_COMMON_CHARTS_HTML_FIGURES_H_

#include <filesystem>
#include <string_view>

#include "absl/status/status.h"

namespace vitrine {

// Writes an HtmlPage to `file`. Also writes each chart with a title to the folder figures/ beside `file`, as a
// standalone SVG document with a light background. The chart "Loss of every epoch" becomes loss-of-every-epoch.svg.
// Each file is replaced atomically. FAILED_PRECONDITION: the folder cannot be made. For other errors, see ReplaceFile.
absl::Status WritePage(const std::filesystem::path& file, std::string_view page);

// Removes what WritePage wrote: the charts of the page, the folder figures/ if it is then empty, and the page.
void RemovePage(const std::filesystem::path& file);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_HTML_FIGURES_H_
