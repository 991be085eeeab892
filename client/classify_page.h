// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_CLASSIFY_PAGE_H_
#define VITRINE_CLIENT_CLASSIFY_PAGE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/table.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Classified pictures as a person reads them: a line per picture, folded where the page is narrow, and what they have
// in common at the end.
class ClassifyPage {
 public:
  struct Expected {
    std::vector<std::string> pictures = {};  // every path that will have a row
    std::vector<std::string> labels = {};    // of the model, for the width of a prediction
    int predictions = 5;                     // per picture
    bool may_be_unsure = false;              // the model has a threshold below which it says so
    int overlay_width = 0;                   // columns of the longest overlay's path; 0 unless there is one per picture
  };
  ClassifyPage(const Page& page, const Expected& expected);

  std::string Header() const;
  std::string Picture(const std::string& path, const v1::ClassifyResponse& answer,
                      const std::vector<std::string>& overlays);
  // Pictures a second, what served them, and the batches they ran in. Empty if no picture was answered.
  std::string Footer(absl::Duration elapsed) const;

 private:
  static std::vector<Column> Columns(const Page& page, const Expected& expected);

  const int label_width_;  // of the best guess, with "unsure: " where that may stand before it
  const std::vector<Column> columns_;
  const Table table_;
  int pictures_ = 0;
  std::set<std::string> served_by_;
  std::map<uint64_t, v1::BatchInfo> batches_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_CLASSIFY_PAGE_H_
