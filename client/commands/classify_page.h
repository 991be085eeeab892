// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_CLASSIFY_PAGE_H_
#define VITRINE_CLIENT_COMMANDS_CLASSIFY_PAGE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/commands/output/table.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Text output for classified images: one line per image, wrapped to the page's width, and a summary at the end.
class ClassifyPage {
 public:
  struct Expected {
    std::vector<std::string> images = {};  // every path that will have a row
    std::vector<std::string> labels = {};  // all labels of the model, to compute the width of a prediction
    int predictions = 5;                   // per image
    bool may_be_unsure = false;            // true if the model has a threshold for unsure answers
    // terminal columns of the longest overlay path; 0 unless every image has one overlay
    int overlay_width = 0;
  };
  ClassifyPage(const Page& page, const Expected& expected);

  std::string Header() const;
  std::string Text(const std::string& path, const v1::ClassifyResponse& answer,
                   const std::vector<std::string>& overlays);
  // Returns the images per second, the versions that answered, and the batch sizes. Empty if no image was answered.
  std::string Footer(absl::Duration elapsed) const;

 private:
  static std::vector<Column> Columns(const Page& page, const Expected& expected);

  const int label_width_;  // width of the longest label, including "unsure: " if may_be_unsure
  const std::vector<Column> columns_;
  const Table table_;
  int images_ = 0;
  std::set<std::string> served_by_;
  std::map<uint64_t, v1::BatchInfo> batches_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_CLASSIFY_PAGE_H_
