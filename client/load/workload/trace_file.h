// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_WORKLOAD_TRACE_FILE_H_
#define VITRINE_CLIENT_LOAD_WORKLOAD_TRACE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/load/workload/workload.h"

namespace vitrine {

// Parses a recorded load in one of two forms:
//
//   CSV (RFC 4180), whose first line names the columns: seconds,model,picture,resolution,priority,deadline
//   JSON lines, whose first byte is '{': {"seconds": 0.25, "model": "a", "picture": "cat.jpg", "deadline": "50ms"}
//
// `seconds`, from the start of the load, is required and must not decrease from line to line. Other fields may be
// missing or empty; they then come from `defaults`, whose images are used one after the other. Relative image paths
// start at `folder`. The text may have at most 10 million lines, and 1000 classes (groups of lines that differ only in
// time and image). INVALID_ARGUMENT: the text is invalid; the message names the line.
absl::StatusOr<Trace> ParseTrace(absl::string_view text, const std::string& folder, const RequestClass& defaults);

// Reads a trace from a regular file of at most 2 GiB. Relative image paths start at the folder of this file. Errors
// name the file.
absl::StatusOr<Trace> ReadTrace(const std::string& path, const RequestClass& defaults);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_WORKLOAD_TRACE_FILE_H_
