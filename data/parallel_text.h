// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_PARALLEL_TEXT_H_
#define VITRINE_DATA_PARALLEL_TEXT_H_

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

using Sentence = std::vector<std::string>;  // words

// Sentences of one split in two languages; the i-th of both say the same.
using SentencePairs = std::array<std::vector<Sentence>, 2>;

// A corpus for translation.
struct ParallelText {
  std::array<std::string, 2> languages;  // "de", "en": the endings of the files, in their order
  SentencePairs train, validation, test;
};

// Reads DIR/{train,val,test}.{de,en} for any two endings: one sentence a line, and equal lines say the same. Words are
// those of WordsOf. NOT_FOUND says what was looked for; INVALID_ARGUMENT names the file and the fault: two files of a
// split with different numbers of lines, or a line without a word.
absl::StatusOr<ParallelText> ReadParallelText(const std::filesystem::path& folder);

// 1 to 9,999 in words and in digits ("digits" and "words"): a corpus that needs no file. Which number is in which split
// is drawn once: 7,999 to train, 1,000 to validate, 1,000 to test.
ParallelText NumberTranslations();

// The words of one language by their frequency, behind four marks.
class WordVocabulary {
 public:
  static constexpr int64_t kUnknown = 0, kPadding = 1, kBegin = 2, kEnd = 3, kMarks = 4;

  // The `most_words` most frequent words; of equally frequent ones those that come first by their bytes.
  WordVocabulary(std::span<const Sentence> sentences, int64_t most_words);

  int64_t size() const { return static_cast<int64_t>(words_.size()); }  // with the marks
  const std::string& word(int64_t id) const { return words_[id]; }
  // kBegin, the words (kUnknown for those outside), kEnd.
  std::vector<int64_t> Encode(const Sentence& sentence) const;
  // The words up to the first kEnd, without marks but for "<unk>", which also stands for ids that no word has: a model
  // may have more.
  Sentence Decode(std::span<const int64_t> ids) const;

 private:
  std::vector<std::string> words_;
  std::map<std::string, int64_t> ids_;
};

}  // namespace vitrine

#endif  // VITRINE_DATA_PARALLEL_TEXT_H_
