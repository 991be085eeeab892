// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_LABEL_MAP_H_
#define VITRINE_DATA_LABEL_MAP_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// A line of a --label-map file.
struct LabelRow {
  std::string data;   // label of the data set
  std::string model;  // label of the model, or its number
  int64_t line = 0;   // of the file, from 1
};

// Two columns, separated by a tab or, where the line has none, by a comma; quotes as in CSV. Empty lines and lines that
// begin with '#' are passed over. INVALID_ARGUMENT names `path` and the line: another number of columns, a label of the
// data set twice.
absl::StatusOr<std::vector<LabelRow>> ParseLabelMap(std::string_view text, std::string_view path);
absl::StatusOr<std::vector<LabelRow>> ReadLabelMap(const std::string& path);

struct LabelMatch {
  std::vector<int32_t> classes = {};      // of the model, for each label of the data set; -1: none
  std::vector<std::string> unknown = {};  // labels of the data set that have none
  bool by_number = false;                 // the data set has numbers only, and they were taken as the model's numbers
  bool by_wnid = false;                   // WordNet ids were taken for the classes of ImageNet-1k
};

// Finds the model's class for every label of the data set, by the first of these that says something:
//   1. its row in `rows`, whose second column is a label of the model, or the number of one from 0 on; a row of exactly
//      this label goes before one in other case;
//   2. the label of equal name, in whatever Unicode form; in other case (A, a) only where exactly one label is meant;
//   3. where all labels of the data set are numbers and no name fits: the class of that number;
//   4. where either side alone has WordNet ids ("n01440764"): the class of ImageNet-1k that the id stands for, by its
//      place where the model has ImageNet-1k's classes, else by its name.
// INVALID_ARGUMENT: a row names a class that the model has not, or a name that several of its classes have; two rows in
// other case speak of one label; without a row, a label is the name of several classes. NOT_FOUND: no label has a
// class; the sentence has the first labels of both.
absl::StatusOr<LabelMatch> MatchLabels(const std::vector<std::string>& data, const std::vector<std::string>& model,
                                       const std::vector<LabelRow>& rows = {});

}  // namespace vitrine

#endif  // VITRINE_DATA_LABEL_MAP_H_
