// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_DATA_PARALLEL_TEXT_H_
#define VITRINE_TRAINER_LAB_DATA_PARALLEL_TEXT_H_

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

// Sentences of one split in two languages. The i-th sentences of both languages are translations of each other.
using SentencePairs = std::array<std::vector<Sentence>, 2>;

// A corpus for translation.
struct ParallelText {
  std::array<std::string, 2> languages;  // "de", "en": file extensions, in the order of SentencePairs
  SentencePairs train, validation, test;
};

// Reads DIR/{train,val,test}.{de,en}. Instead of de and en, any two extensions are allowed. A line is a sentence; lines
// with the same number are translations of each other. WordsOf splits a line into words. NOT_FOUND names the expected
// files. INVALID_ARGUMENT names the file and the cause: different numbers of lines in a split, or a line without a
// word.
absl::StatusOr<ParallelText> ReadParallelText(const std::filesystem::path& folder);

// Returns a corpus that needs no files: the numbers 1 to 9,999 in the languages "digits" and "words". The split of each
// number is fixed: 7,999 numbers for training, 1,000 for validation, 1,000 for testing.
ParallelText NumberTranslations();

// Vocabulary of one language: four special tokens, then the words, sorted by frequency.
class WordVocabulary {
 public:
  static constexpr int64_t kUnknown = 0, kPadding = 1, kBegin = 2, kEnd = 3, kMarks = 4;

  // Takes the `most_words` most frequent words. Words of equal frequency are ordered by their bytes.
  WordVocabulary(std::span<const Sentence> sentences, int64_t most_words);

  int64_t size() const { return static_cast<int64_t>(words_.size()); }  // including the special tokens
  const std::string& word(int64_t id) const { return words_[id]; }
  // Returns the ids kBegin, the words' ids (kUnknown for a word outside the vocabulary), and kEnd.
  std::vector<int64_t> Encode(const Sentence& sentence) const;
  // Returns the words up to the first kEnd. Omits special tokens except "<unk>". Ids beyond the vocabulary also become
  // "<unk>", because a model may have more ids than the vocabulary.
  Sentence Decode(std::span<const int64_t> ids) const;

 private:
  std::vector<std::string> words_;
  std::map<std::string, int64_t> ids_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_DATA_PARALLEL_TEXT_H_
