// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_REPOSITORY_TRACED_PROCESS_H_
#define VITRINE_TESTS_MODELS_REPOSITORY_TRACED_PROCESS_H_

#include <cstdint>
#include <functional>
#include <string>

namespace vitrine {

// A system call that a traced child is about to make, or has made.
struct SystemCall {
  uint64_t number = 0;  // SYS_*
  uint64_t arguments[6] = {};
};

// The tracer's decision about a system call.
struct Verdict {
  bool kill = false;  // kill the child with SIGKILL instead of making the call
  int error = 0;      // skip the call and let it fail with this errno; x86-64 only
};

struct ChildResult {
  bool started = false;  // false: the child could not be traced or prepared; `text` says why
  bool killed = false;
  int status = 0;    // as returned by waitpid
  std::string text;  // return value of `body`, if it returned
};

// Runs `body` in a forked child and returns the child's result.
ChildResult RunInChild(const std::function<std::string()>& body);

// Like RunInChild, but calls `before` at every system call of the body and `after` with the call's result. The body may
// become another program (execve); ChildResult::text is then empty.
ChildResult RunTraced(const std::function<std::string()>& body, const std::function<Verdict(const SystemCall&)>& before,
                      const std::function<void(const SystemCall&, int64_t result)>& after);

}  // namespace vitrine

#endif  // VITRINE_TESTS_MODELS_REPOSITORY_TRACED_PROCESS_H_
