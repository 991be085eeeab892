// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_REPORT_FIGURES_H_
#define VITRINE_TRAINER_WATCH_REPORT_FIGURES_H_

#include <map>
#include <string>
#include <string_view>

namespace vitrine {

// The charts of an HtmlPage as SVG documents for light paper that need no page, by a file's name made of their titles:
// "Loss of every epoch" is "loss-of-every-epoch". Charts without a title are left out.
std::map<std::string, std::string> FiguresOf(std::string_view page);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_REPORT_FIGURES_H_
