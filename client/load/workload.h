// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_WORKLOAD_H_
#define VITRINE_CLIENT_LOAD_WORKLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/load/arrivals.h"
#include "client/load/request_class.h"

namespace vitrine {

// The requests of a load, serialised once and shared by all that are sent.
struct Workload {
  struct Request {
    std::string bytes;  // a ClassifyRequest
    uint32_t request_class = 0;
  };
  std::vector<RequestClass> classes = {};
  // But for a trace those of a class stand together, in the order of the classes.
  std::vector<Request> requests = {};
  double picture_bytes = 0;  // mean size of a picture

  // The request that comes `number`th: its class drawn by weight, its picture by chance. Pure. Not for a trace.
  uint32_t Pick(uint64_t seed, uint64_t number) const;
};

struct WorkloadOptions {
  // Brings every picture to this size, by zeros behind its end or by cutting it; 0 leaves it. For servers that decode
  // nothing.
  int64_t bytes = 0;
  // Most bytes that all requests together may take here.
  int64_t max_bytes = int64_t{1} << 30;
};

// Reads the pictures of every class. INVALID_ARGUMENT, NOT_FOUND and the like name the picture that cannot be used.
absl::StatusOr<Workload> PrepareWorkload(std::vector<RequestClass> classes, const WorkloadOptions& options);

// A recorded load: its requests, and when each is due.
struct Trace {
  struct Request {
    uint32_t request_class = 0;
    std::string picture = {};  // a file; empty: a made picture
  };
  std::vector<RequestClass> classes = {};  // those of equal settings are one class, whatever their pictures
  std::vector<Request> requests = {};      // all of them differ
  std::vector<Arrival> arrivals = {};      // `request` is an index into `requests`; at least one
};

// The requests of a trace, in its order, so that an arrival's `request` stays valid.
absl::StatusOr<Workload> PrepareTrace(const Trace& trace, const WorkloadOptions& options);

// A PNG file with some of everything, for those who give no picture. Always the same.
std::string MadePicture(int side);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_WORKLOAD_H_
