// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_LABEL_MAP_H_
#define VITRINE_COMMON_DATA_LABEL_MAP_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

// One line of a --label-map file.
struct LabelRow {
  std::string data;   // label of the data set
  std::string model;  // label of the model, or its index
  int64_t line = 0;   // line number in the file, from 1
};

// Parses the two columns of a --label-map file. They are separated by a tab or, if there is no tab, by a comma. Quotes
// work like in CSV. Empty lines and lines that start with '#' are ignored. INVALID_ARGUMENT (with `path` and line
// number): a line does not have two columns, or a data label occurs twice, compared in NFC.
absl::StatusOr<std::vector<LabelRow>> ParseLabelMap(std::string_view text, std::string_view path);
absl::StatusOr<std::vector<LabelRow>> ReadLabelMap(const std::string& path);

struct LabelMatch {
  std::vector<int32_t> classes = {};      // class of the model for each data label; -1: none
  std::vector<std::string> unknown = {};  // data labels without a class
  bool by_number = false;                 // true: all data labels are numbers, which were used as class indices
  bool by_wnid = false;                   // true: WordNet ids were matched to the classes of ImageNet-1k
};

// Finds the model's class for every data label. The first rule that applies is used:
//   1. The label's row in `rows`, whose `model` is a label or an index (from 0) of the model. An exact match of the
//      data label is preferred to a match that differs in case.
//   2. The model's label with the same name, compared in NFC. A name that differs only in case counts if it is unique.
//   3. The model's label with the same number ("01" and "1"), if it is unique.
//   4. If all data labels are numbers and none has matched by rule 2 or 3: the class whose index is the label's number.
//   5. If the data set or the model has WordNet ids ("n01440764"): the class of ImageNet-1k with that id. If the data
//      set has the ids, and the model has ImageNet-1k's classes in the same order, the class is found by its index,
//      else by its name.
// INVALID_ARGUMENT: the model has no class, or several classes, with the name in a row; two rows that differ only in
// case match the same data label; several classes of the model have the name of a data label without a row. NOT_FOUND:
// no label has a class; the message has the first labels of the data set and of the model.
absl::StatusOr<LabelMatch> MatchLabels(const std::vector<std::string>& data, const std::vector<std::string>& model,
                                       const std::vector<LabelRow>& rows = {});

// Returns warnings about a match for the user, one line for each rule whose matches may be wrong.
std::vector<std::string> MatchInWords(const LabelMatch& match, const Dataset& data);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_LABEL_MAP_H_
