// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_REPORT_REPORT_FIGURES_H_
#define VITRINE_TRAINER_WATCH_REPORT_REPORT_FIGURES_H_

#include <map>
#include <string>
#include <string_view>

namespace vitrine {

// Returns the charts of an HtmlPage as standalone SVG documents with a light background, by file name from the title:
// "Loss of every epoch" is "loss-of-every-epoch". Omits charts without a title.
std::map<std::string, std::string> FiguresOf(std::string_view page);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_REPORT_REPORT_FIGURES_H_
