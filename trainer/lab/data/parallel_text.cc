// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/data/parallel_text.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/data/file.h"
#include "common/status_macros.h"
#include "trainer/lab/data/number_words.h"
#include "trainer/lab/data/text.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::array<std::string, 2>> FindLanguages(const fs::path& folder) {
  std::error_code error;
  std::set<std::string> endings;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().stem() == "train") endings.insert(entry->path().extension().string());
  }
  endings.erase("");
  if (error) return absl::NotFoundError(absl::StrCat(folder.string(), " cannot be read: ", error.message()));
  if (endings.size() == 2) return std::array{endings.begin()->substr(1), endings.rbegin()->substr(1)};
  return absl::NotFoundError(absl::StrCat(
      folder.string(), " has ", endings.size(), " files train.<language>",
      endings.empty() ? "" : absl::StrCat(" (", absl::StrJoin(endings, ", "), ")"),
      "; parallel text needs two, with one sentence per line, for instance train.de and train.en, with val.* and "
      "test.*"));
}

absl::StatusOr<std::vector<Sentence>> ReadSentences(const fs::path& file) {
  ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(file));
  std::vector<Sentence> sentences;
  sentences.reserve(lines.size());
  for (const std::string& line : lines) {
    sentences.push_back(WordsOf(line));
    if (!sentences.back().empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(file.string(), ":", sentences.size(), " has no word"));
  }
  if (sentences.empty()) return absl::InvalidArgumentError(absl::StrCat(file.string(), " has no sentence"));
  return sentences;
}

absl::StatusOr<SentencePairs> ReadSplit(const fs::path& folder, const std::string& split,
                                        const std::array<std::string, 2>& languages) {
  SentencePairs pairs;
  for (int side = 0; side < 2; ++side) {
    ASSIGN_OR_RETURN(pairs[side], ReadSentences(folder / absl::StrCat(split, ".", languages[side])));
  }
  if (pairs[0].size() == pairs[1].size()) return pairs;
  return absl::InvalidArgumentError(absl::StrCat((folder / split).string(), ".", languages[0], " has ", pairs[0].size(),
                                                 " lines, ", split, ".", languages[1], " ", pairs[1].size(),
                                                 "; each sentence needs its translation on the same line"));
}

// SplitMix64's finaliser (Steele et al. 2014).
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

Sentence DigitsOf(int number) {
  Sentence digits;
  for (const char digit : std::to_string(number)) digits.emplace_back(1, digit);
  return digits;
}

}  // namespace

absl::StatusOr<ParallelText> ReadParallelText(const fs::path& folder) {
  if (!IsFolder(folder)) return absl::NotFoundError(absl::StrCat(folder.string(), " is not a folder"));
  ParallelText text;
  ASSIGN_OR_RETURN(text.languages, FindLanguages(folder));
  ASSIGN_OR_RETURN(text.train, ReadSplit(folder, "train", text.languages));
  ASSIGN_OR_RETURN(text.validation, ReadSplit(folder, "val", text.languages));
  ASSIGN_OR_RETURN(text.test, ReadSplit(folder, "test", text.languages));
  return text;
}

ParallelText NumberTranslations() {
  ParallelText text;
  text.languages = {"digits", "words"};
  std::vector<int> numbers(9999);
  std::iota(numbers.begin(), numbers.end(), 1);
  std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return Mix(a) < Mix(b); });
  for (size_t i = 0; i < numbers.size(); ++i) {
    SentencePairs& split = i < 1000 ? text.test : i < 2000 ? text.validation : text.train;
    split[0].push_back(DigitsOf(numbers[i]));
    split[1].push_back(NumberInWords(numbers[i]));
  }
  return text;
}

WordVocabulary::WordVocabulary(std::span<const Sentence> sentences, int64_t most_words)
    : words_{"<unk>", "<pad>", "<bos>", "<eos>"} {
  std::map<std::string, int64_t> counts;
  for (const Sentence& sentence : sentences) {
    for (const std::string& word : sentence) ++counts[word];
  }
  std::vector<std::pair<std::string, int64_t>> ranked(counts.begin(), counts.end());
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (static_cast<int64_t>(ranked.size()) > most_words) ranked.resize(most_words);
  for (auto& [word, unused] : ranked) {
    ids_[word] = size();
    words_.push_back(std::move(word));
  }
}

std::vector<int64_t> WordVocabulary::Encode(const Sentence& sentence) const {
  std::vector<int64_t> ids = {kBegin};
  for (const std::string& word : sentence) {
    const auto found = ids_.find(word);
    ids.push_back(found == ids_.end() ? kUnknown : found->second);
  }
  ids.push_back(kEnd);
  return ids;
}

Sentence WordVocabulary::Decode(std::span<const int64_t> ids) const {
  Sentence sentence;
  for (const int64_t id : ids) {
    if (id == kEnd) break;
    if (id != kBegin && id != kPadding) sentence.push_back(words_[id < size() ? id : kUnknown]);
  }
  return sentence;
}

}  // namespace vitrine
