#ifndef VITRINE_PROGRAMS_CLIENT_EVAL_H_
#define VITRINE_PROGRAMS_CLIENT_EVAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "programs/client_command.h"

namespace vitrine {

// Parts of `vitrine eval` in files of their own. client_eval.cc puts them together.

// What the report of a run shows beyond its numbers.
struct ReportFlags {
  int mistakes = 24;               // pictures of the surest mistakes
  int64_t attention_distance = 0;  // pictures whose attention distances are averaged; 0: none
};
// --mistakes N, --attention-distance N. `flags` must outlive the parsing.
void AddReportFlags(CLI::App& eval, ReportFlags& flags);

// Several models or sizes instead of one.
struct StudyFlags {
  std::vector<std::string> models = {};       // NAME[@VERSION]
  std::vector<std::string> resolutions = {};  // SIDE or HxW
  bool wanted() const { return !models.empty() || !resolutions.empty(); }
};
// --models A,B and --resolutions 160,HxW. `flags` must outlive the parsing.
void AddStudyFlags(CLI::App& eval, StudyFlags& flags);

// `vitrine eval compare A B`
ClientCommand AddEvalCompare(CLI::App& eval);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_CLIENT_EVAL_H_
